"""Traces of kernels: a kind and a size say everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.model.errors import UnknownNameError
from hybrid_scheduler.workloads.csv_cells import BadCellError, Parsed, Parser, read_cells
from hybrid_scheduler.workloads.csv_columns import parse_kinds, task_parsers
from hybrid_scheduler.workloads.csv_trace import REQUIRED, missing_column
from hybrid_scheduler.workloads.kernel_kinds import NOMINAL_BYTES, NOMINAL_FLOPS, kernel_columns, kernel_kind
from hybrid_scheduler.workloads.readers.base import Reader, header_of
from hybrid_scheduler.workloads.recorded import Assumption, TraceFile

NEEDED = ("kind", "size")
OPTIONAL = ("task_id", "arrival_time", "dependencies")


class KernelsReader(Reader):
    """A CSV file with the columns `kind` and `size`, perhaps `arrival_time`, `task_id` and `dependencies`."""

    title = "CSV of kernels: kind, size and arrival are enough"

    def recognises(self, head: bytes, name: str) -> bool:
        """Its columns are known, and none of what a kernel's kind and size say is among them."""
        header = header_of(head)
        return all(column in header for column in NEEDED) and not any(column in header for column in REQUIRED[1:])

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`; nothing is drawn."""

        def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
            for required in NEEDED:
                if required not in header:
                    raise missing_column(path, required, [n for n in header if n not in NEEDED], header)
            others = task_parsers([name for name in ("size", *OPTIONAL) if name in header], time_given=True)
            return {**others, "kind": _parse_kernel_kinds}

        file = read_cells(path, choose)
        columns = dict(file.columns)
        filled = kernel_columns(columns["kind"], np.asarray(columns["size"]))  # type: ignore[arg-type]
        try:
            tasks = TaskBatch.from_columns(**{**columns, **filled})  # type: ignore[arg-type]
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error
        text = (
            "intensity and memory follow from kind and size; a time that nobody measured is that of a CPU of "
            f"{NOMINAL_FLOPS:g} operations and {NOMINAL_BYTES:g} bytes a second"
        )
        derived = tuple(name for name in OPTIONAL if name not in columns)
        return TraceFile(tasks, derived, (Assumption("kernel_figures", text),))


def _parse_kernel_kinds(cells: Sequence[str]) -> Parsed:
    kinds = parse_kinds(cells)
    for index, name in enumerate(kinds):
        try:
            kernel_kind(name)
        except UnknownNameError as error:
            raise BadCellError(index, str(error)) from error
    return kinds
