"""Reading CSV files cell by cell with errors that say where: the part traces and tables share.

Rows are read and converted a thousand at a time, column by column, so a million rows take seconds and the text
of the file is never held as a whole. Only when a conversion fails is the cell looked for.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.opening import opened

# Few enough for the cells of a chunk to stay in the processor's cache: twice as fast as with many.
_CHUNK_ROWS = 1024

Parsed = NDArray[Any] | list[Any]
Parser = Callable[[Sequence[str]], Parsed]
Choose = Callable[[tuple[str, ...]], Mapping[str, Parser]]
"""Given the names in a header, the columns to read and how."""


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


def read_cells(path: str | Path, choose: Choose) -> CsvFile:
    """Read the columns of a CSV file, in UTF-8, compressed or not.

    Args:
        path: The file.
        choose: Given the names in the header, the columns to read and how; may raise about the header.

    Raises:
        InvalidInputError: The file cannot be read, is empty or not a table, or a parser refuses a cell.
    """
    ends = array("q")
    pieces: dict[str, list[Parsed]] = {}
    for columns in stream_cells(path, choose, ends):
        for name, parsed in columns.items():
            pieces.setdefault(name, []).append(parsed)
    return CsvFile(Path(path), {name: _join(parts) for name, parts in pieces.items()}, ends)


def stream_cells(path: str | Path, choose: Choose, ends: array[int]) -> Iterator[dict[str, Parsed]]:
    """The same, a thousand rows at a time; `ends` is filled as `CsvFile.ends` while rows are read."""
    path = Path(path)
    with as_text(path) as text:
        reader = csv.reader(text, strict=True, skipinitialspace=True)
        try:
            yield from _parsed(path, reader, choose, ends)
        except csv.Error as error:
            raise InvalidInputError(f"{path}, line {reader.line_num}: not readable as CSV: {error}") from error


def read_header(path: Path, reader: Any) -> tuple[str, ...]:
    """The names in the first row; an extra column may have none.

    Raises:
        InvalidInputError: There is no name, or one occurs twice.
    """
    header = tuple(name.strip() for name in next(reader, []))
    if not any(header):
        raise InvalidInputError(f"{path}: the first line is empty; it must name the columns")
    named = [name for name in header if name]
    for name in named:
        if named.count(name) > 1:
            raise InvalidInputError(f"{path}, line 1: column {name!r} occurs twice; rename or delete one")
    return header


def _parsed(path: Path, reader: Any, choose: Choose, ends: array[int]) -> Iterator[dict[str, Parsed]]:
    header = read_header(path, reader)
    parsers = choose(header)
    ends.append(reader.line_num)
    for rows in _chunks(path, reader, len(header), ends):
        first = len(ends) - 1 - len(rows)
        cells = dict(zip(header, zip(*rows, strict=True), strict=True))
        parsed: dict[str, Parsed] = {}
        bad: list[tuple[int, str, BadCellError]] = []
        for name, parser in parsers.items():
            try:
                parsed[name] = parser(cells[name])
            except BadCellError as error:
                bad.append((error.index, name, error))
        if bad:
            index, name, reason = min(bad, key=lambda b: b[0])
            raise CsvFile(path, {}, ends).error(first + index, name, str(reason)) from reason
        yield parsed
    if len(ends) == 1:
        raise InvalidInputError(f"{path}: there is a header but no task; add at least one row")


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
def as_text(path: Path) -> Iterator[IO[str]]:
    """The file as text; whatever prevents reading it becomes one clear error."""
    try:
        with opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        line = _first_undecodable(path)
        raise InvalidInputError(f"{path}, line {line}: the file is not in UTF-8; save it in that encoding") from error


def _first_undecodable(path: Path) -> int:
    # The decoder works ahead of the reader, in blocks, so its own position says nothing about the line.
    with opened(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
