"""Large traces, piece by piece: Arrow reads what is plain, and the exact reader takes over where something is not."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hybrid_scheduler.model.task import cpu_base_durations
from hybrid_scheduler.workloads.arrow_columns import BadRowError, arrow_chunk, edges_of
from hybrid_scheduler.workloads.chunks import TaskChunk
from hybrid_scheduler.workloads.csv_cells import CsvFile, Parser, as_text, read_header, stream_cells
from hybrid_scheduler.workloads.csv_tasks import refuse_two_sizes
from hybrid_scheduler.workloads.csv_trace import absent_columns, trace_column_names, trace_parsers
from hybrid_scheduler.workloads.opening import opened

BLOCK_BYTES = 1 << 22
INTEGERS, TEXTS = ("task_id",), ("dependencies", "kind")


def stream_csv(path: Path) -> Iterator[TaskChunk]:
    """The tasks of a trace in the order of the file, some ten thousand at a time; the file is never held as a whole.

    Raises:
        InvalidInputError: As `read_csv`, but for rules about several rows (ids that occur twice, unknown parents,
            cycles), which a piece cannot know.
    """
    done = 0
    if find_spec("pyarrow") is not None:
        import pyarrow as pa

        try:
            for chunk in _by_arrow(path):
                yield chunk
                done += len(chunk)
            return
        except (BadRowError, pa.ArrowInvalid, csv.Error):
            pass  # not plain: the exact reader reads on where this one stopped, or says what is wrong and where
    yield from _exactly(path, done)


def _by_arrow(path: Path) -> Iterator[TaskChunk]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with as_text(path) as text:
        header = read_header(path, csv.reader(text, strict=True, skipinitialspace=True))
    names = trace_column_names(path, header)
    kinds = {column: _arrow_type(pa, name) for name, column in names.items()}
    with opened(path) as raw:
        batches = arrow_csv.open_csv(
            raw,
            arrow_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=header, skip_rows=1),
            arrow_csv.ParseOptions(ignore_empty_lines=False),
            arrow_csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), null_values=[]),
        )
        done = 0
        for batch in batches:
            if len(batch):
                yield arrow_chunk(batch, names, done)
            done += len(batch)
    if not done:
        raise pa.ArrowInvalid("no task")


def _arrow_type(pa: Any, name: str) -> Any:
    return pa.int64() if name in INTEGERS else pa.string() if name in TEXTS else pa.float64()


def _exactly(path: Path, skip: int) -> Iterator[TaskChunk]:
    """The tasks after the first so many, with every cell of the file checked."""
    names: dict[str, str] = {}

    def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
        names.update(trace_column_names(path, header))
        return trace_parsers(names)

    first, ends = 0, array("q")
    for columns in stream_cells(path, choose, ends):
        parsed: dict[str, Any] = {name: columns[column] for name, column in names.items()}
        refuse_two_sizes(CsvFile(path, {}, ends), parsed["size"], parsed.pop("task_size", parsed["size"]), first)
        count = len(parsed["size"])
        if first + count > skip:
            yield _chunk({name: values[max(0, skip - first) :] for name, values in parsed.items()}, max(first, skip))
        first += count


def _chunk(parsed: dict[str, Any], first: int) -> TaskChunk:
    figures = {name: parsed[name] for name in ("size", "compute_intensity", "memory_required")}
    by_formula = cpu_base_durations(parsed["size"], parsed["compute_intensity"])
    figures["duration_estimate"] = parsed.get("duration_estimate", by_formula)
    count = len(by_formula)
    child, parents, megabytes = edges_of(parsed.get("dependencies", [()] * count))
    ids = parsed.get("task_id")
    kinds = parsed.get("kind", [])
    return TaskChunk(
        figures,
        parsed.get("arrival_time"),
        ids,
        {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        first + child if ids is None else ids[child],
        parents,
        absent_columns({name: name for name in parsed}),
        megabytes=megabytes,
    )
