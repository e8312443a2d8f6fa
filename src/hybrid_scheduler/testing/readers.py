"""What every reader of workload files must do, built in or yours: ``check_reader(Reader(), path)`` runs it all."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.workloads.chunks import chunk_of
from hybrid_scheduler.workloads.opening import head
from hybrid_scheduler.workloads.readers.base import HEAD_BYTES, Reader
from hybrid_scheduler.workloads.recorded import RecordedFile, TraceFile


def check_recognises(reader: Reader, path: Path) -> None:
    """It recognises the file by content, not a file of nothing, and has a title."""
    assert reader.recognises(head(path, HEAD_BYTES), path.name), f"{path.name} is not recognised"
    assert not reader.recognises(b"", "file"), "an empty file is recognised"
    assert reader.title, "there is no title"


def check_repeats(reader: Reader, path: Path) -> None:
    """The same seed gives the same tasks, and so does a compressed copy."""
    once = reader.read(path, 7)
    assert _columns(reader.read(path, 7)) == _columns(once), "seed 7 gives other tasks the second time"
    if path.suffix == ".gz":
        return
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert _columns(reader.read(packed, 7)) == _columns(once), "a compressed copy gives other tasks"


def check_seed_is_stated(reader: Reader, path: Path) -> None:
    """Where another seed gives other tasks, the result says what was drawn, and from which seed."""
    one, other = reader.read(path, 7), reader.read(path, 8)
    drawn = _columns(one) != _columns(other)
    assert drawn == any(assumption.seed == 7 for assumption in one.assumed), (
        "what is drawn must be stated, with its seed"
    )


def check_stream(reader: Reader, path: Path) -> None:
    """The pieces together are the whole."""
    whole, pieces = chunk_of(reader.read(path, 7)), list(reader.stream(path, 7))
    for name, values in whole.figures.items():
        joined = np.concatenate([piece.figures[name] for piece in pieces])
        assert np.array_equal(np.sort(joined), np.sort(values), equal_nan=True), f"{name} differs in the pieces"
    assert sum(len(piece.child) for piece in pieces) == len(whole.child), "dependencies differ in the pieces"


def check_columns_beside(reader: Reader, path: Path) -> None:
    """What stands beside the tasks has one value for each."""
    file = reader.read(path, 7)
    requested = file.requested_time if isinstance(file, TraceFile) else None
    assert requested is None or len(requested) == len(file.tasks), "a column beside the tasks has another length"


def check_truncated(reader: Reader, path: Path) -> None:
    """A gzip file that was cut off is an error that names it."""
    packed = path.with_name(f"cut_{path.name}.gz")
    data = gzip.compress(path.read_bytes())
    packed.write_bytes(data[: len(data) // 2])
    try:
        reader.read(packed, 7)
    except InvalidInputError as error:
        message = str(error)
    else:
        raise AssertionError("a gzip file that was cut off is read as if it were whole")
    assert packed.name in message, f"the error does not name the file: {message}"


READER_CHECKS = (
    check_recognises,
    check_repeats,
    check_seed_is_stated,
    check_stream,
    check_columns_beside,
    check_truncated,
)


def check_reader(reader: Reader, path: Path) -> None:
    """Run every check.

    Args:
        reader: The reader.
        path: A file of its format, not compressed; copies are written beside it.
    """
    for check in READER_CHECKS:
        check(reader, path)


def _columns(file: RecordedFile) -> list[str]:
    return list(map(repr, file.tasks))
