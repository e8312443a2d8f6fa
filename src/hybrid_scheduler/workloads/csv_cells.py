"""Reading CSV files cell by cell with errors that say where: the part traces and tables share.

Rows are read and converted a thousand at a time, column by column, so a million rows take seconds and the text
of the file is never held as a whole. Only when a conversion fails is the cell looked for.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import InvalidInputError

# Few enough for the cells of a chunk to stay in the processor's cache: twice as fast as with many.
_CHUNK_ROWS = 1024

Parsed = NDArray[Any] | list[Any]
Parser = Callable[[Sequence[str]], Parsed]


class BadCellError(Exception):
    """A parser's word that a cell is wrong: which one of those it was given, and the rule; never leaves this room."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(problem)
        self.index = index


@dataclass(frozen=True)
class CsvFile:
    """A file that has been read.

    Attributes:
        path: Where it lies.
        columns: The parsed columns by their names in the file.
        ends: The number of the last line of the header and of every row (a quoted cell may span several lines).
    """

    path: Path
    columns: Mapping[str, Parsed]
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def line(self, row: int) -> int:
        """The line on which a row starts; the header is line 1."""
        return self.ends[row] + 1

    def error(self, row: int, column: str, problem: str) -> InvalidInputError:
        """An error about one cell."""
        return InvalidInputError(f"{self.path}, line {self.line(row)}, column {column}: {problem}")


def read_cells(path: str | Path, choose: Callable[[tuple[str, ...]], Mapping[str, Parser]]) -> CsvFile:
    """Read the columns of a CSV file, in UTF-8, compressed if the name ends in `.gz`.

    Args:
        path: The file.
        choose: Given the names in the header, the columns to read and how; may raise about the header.

    Raises:
        InvalidInputError: The file cannot be read, is empty or not a table, or a parser refuses a cell.
    """
    path = Path(path)
    with _opened(path) as text:
        reader = csv.reader(text, strict=True, skipinitialspace=True)
        try:
            return _read(path, reader, choose)
        except csv.Error as error:
            raise InvalidInputError(f"{path}, line {reader.line_num}: not readable as CSV: {error}") from error


def _read(path: Path, reader: Any, choose: Callable[[tuple[str, ...]], Mapping[str, Parser]]) -> CsvFile:
    header = tuple(name.strip() for name in next(reader, []))
    if not any(header):
        raise InvalidInputError(f"{path}: the first line is empty; it must name the columns")
    named = [name for name in header if name]
    for name in named:
        if named.count(name) > 1:
            raise InvalidInputError(f"{path}, line 1: column {name!r} occurs twice; rename or delete one")
    parsers = choose(header)
    ends = array("q", [reader.line_num])
    pieces: dict[str, list[Parsed]] = {name: [] for name in parsers}
    for rows in _chunks(path, reader, len(header), ends):
        first = len(ends) - 1 - len(rows)
        cells = dict(zip(header, zip(*rows, strict=True), strict=True))
        bad: list[tuple[int, str, BadCellError]] = []
        for name, parser in parsers.items():
            try:
                pieces[name].append(parser(cells[name]))
            except BadCellError as error:
                bad.append((error.index, name, error))
        if bad:
            index, name, reason = min(bad, key=lambda b: b[0])
            raise CsvFile(path, {}, ends).error(first + index, name, str(reason)) from reason
    if len(ends) == 1:
        raise InvalidInputError(f"{path}: there is a header but no task; add at least one row")
    return CsvFile(path, {name: _join(parts) for name, parts in pieces.items()}, ends)


def _chunks(path: Path, reader: Any, width: int, ends: array[int]) -> Iterator[list[list[str]]]:
    """Rows with the right number of cells. Blank lines at the end of the file are let pass, others are refused."""
    rows: list[list[str]] = []
    blank = 0
    for row in reader:
        if len(row) != width or blank:
            if len(row) < 2 and not "".join(row).strip():
                blank = blank or reader.line_num
                continue
            if blank:
                raise InvalidInputError(
                    f"{path}, line {blank}: the line is blank, but tasks follow it; delete the line"
                )
            raise InvalidInputError(
                f"{path}, line {ends[-1] + 1}: the row has {len(row)} cells, but the header names {width} columns"
            )
        rows.append(row)
        ends.append(reader.line_num)
        if len(rows) == _CHUNK_ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _join(parts: list[Parsed]) -> Parsed:
    if isinstance(parts[0], list):
        return list(chain.from_iterable(parts))
    return np.concatenate(parts)


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """The file as text; whatever prevents reading it becomes one clear error."""
    if path.is_dir():
        raise InvalidInputError(f"{path}: this is a directory; name a CSV file")
    try:
        with _binary(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield text
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: there is no such file") from error
    except UnicodeDecodeError as error:
        line = _first_undecodable(path)
        raise InvalidInputError(f"{path}, line {line}: the file is not in UTF-8; save it in that encoding") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{path}: the file is not a complete gzip file: {error}") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be read: {error.strerror or error}") from error


def _binary(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _first_undecodable(path: Path) -> int:
    # The decoder works ahead of the reader, in blocks, so its own position says nothing about the line.
    with _binary(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
