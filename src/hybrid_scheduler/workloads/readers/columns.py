"""Tables of other people as CSV files: named columns, each with a parser, and errors that say where."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.model import FloatArray
from hybrid_scheduler.workloads.csv_cells import BadCellError, CsvFile, Parsed, Parser, read_cells
from hybrid_scheduler.workloads.csv_columns import bad_cell, shown
from hybrid_scheduler.workloads.csv_trace import missing_column


def read_columns(path: Path, parsers: Mapping[str, Parser], optional: Collection[str] = ()) -> CsvFile:
    """Read these columns of a file; all but the optional ones must be there, further ones are left alone.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """

    def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
        for required in parsers:
            if required not in header and required not in optional:
                raise missing_column(path, required, [name for name in header if name not in parsers], header)
        return {name: parser for name, parser in parsers.items() if name in header}

    return read_cells(path, choose)


def parse_texts(cells: Sequence[str]) -> Parsed:
    """Parser for words; an empty cell is an empty word."""
    return [cell.strip() for cell in cells]


def parse_numbers_or_nothing(cells: Sequence[str]) -> FloatArray:
    """Parser for finite numbers of which some may be absent: an empty cell is NaN."""
    values = np.empty(len(cells))
    for index, cell in enumerate(cells):
        try:
            values[index] = float(cell) if cell.strip() else math.nan
            fine = not cell.strip() or math.isfinite(values[index])
        except ValueError:
            fine = False
        if not fine:
            raise BadCellError(index, f"{shown(cell)} must be a number, or empty where it is unknown")
    return values


def parse_moments(cells: Sequence[str]) -> FloatArray:
    """Parser for date and time (`2017-10-09 07:01:55`), as seconds since 1970."""
    try:
        moments = np.array(cells, dtype="datetime64[s]")
    except ValueError:
        moments = np.array(["NaT"], dtype="datetime64[s]")
    if not np.isnat(moments).any():
        return moments.astype(np.int64).astype(np.float64)
    rule = "a date and time, like 2017-10-09 07:01:55"
    raise bad_cell(cells, lambda cell: not np.isnat(np.datetime64(cell.strip(), "s")), rule)
