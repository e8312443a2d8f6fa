"""The nodes of Alibaba's GPU cluster, 2023: to be looked at with `hms inspect`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.workloads.chunks import TaskChunk
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.base import Reader, has_columns
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns
from hybrid_scheduler.workloads.recorded import RecordedFile

NUMBERS = ("cpu_milli", "memory_mib", "gpu")
AMOUNTS = Range(0, 1e12)


class AlibabaNodesReader(Reader):
    """One row per node: thousandths of a core, memory, and how many GPUs of which model it has.

    There is no task in it, so it cannot be raced; `hms inspect` counts nodes, cores, GPUs and models.
    """

    title = "Alibaba GPU cluster 2023, nodes"
    rows = "nodes"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its columns."""
        return has_columns(head, ("sn", *NUMBERS, "model"))

    def read(self, path: Path, seed: int) -> RecordedFile:
        """Refuse: nodes are no tasks."""
        raise InvalidInputError(f"{path}: this is a list of nodes, and there is no task in it; give the list of pods")

    def stream(self, path: Path, seed: int) -> Iterator[TaskChunk]:
        """The nodes, their GPU models as kinds."""
        parsers = {**dict.fromkeys(NUMBERS, number_parser(AMOUNTS)), "model": parse_texts}
        columns = cast(dict[str, Any], read_columns(path, parsers).columns)
        figures = {"cores": columns["cpu_milli"] / 1000, "memory_mib": columns["memory_mib"], "gpus": columns["gpu"]}
        yield TaskChunk(figures, kinds=Counter(model or "without a GPU" for model in columns["model"]))
