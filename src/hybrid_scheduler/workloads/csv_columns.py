"""How the cells of each column are read and checked."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, AnyStr

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import FloatArray, IntArray
from hybrid_scheduler.model.ranges import MEGABYTES, SECONDS, Range
from hybrid_scheduler.model.task import ID_RULE, LARGEST_ID, MOST_WIDTH, TASK_RANGES, WIDTH_RULE, Dependency, size_rule
from hybrid_scheduler.workloads.csv_cells import BadCellError, Parsed, Parser

IDS = Range(0, LARGEST_ID, "an integer")
WIDTHS = Range(1, MOST_WIDTH, WIDTH_RULE)


def shown(cell: str) -> str:
    """A cell as it appears in an error: quoted, on one line, not too long."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


def first_bad(cells: Iterable[AnyStr], holds: Callable[[AnyStr], bool]) -> int:
    """Position of the first cell that breaks a rule, one of which does; `holds` may also raise `ValueError`."""
    for index, cell in enumerate(cells):
        try:
            fine = holds(cell)
        except ValueError:
            fine = False
        if not fine:
            return index
    raise AssertionError("where a rule is broken, there is a cell that breaks it")


def bad_cell(cells: Sequence[str], holds: Callable[[str], bool], rule: str) -> BadCellError:
    """The error about the first cell that breaks a rule; `holds` may also raise `ValueError`."""
    index = first_bad(cells, holds)
    return BadCellError(index, f"{shown(cells[index])} must be {rule}")


def number_parser(legal: Range, hint: str = "") -> Parser:
    """A parser for real numbers of a range; `hint` is added to its errors."""

    def parse(cells: Sequence[str]) -> FloatArray:
        return _numbers(cells, float, legal, f"{legal}{hint}").astype(np.float64, copy=False)

    return parse


def parse_ids(cells: Sequence[str]) -> IntArray:
    """Parser for task ids."""
    return _numbers(cells, int, IDS, ID_RULE).astype(np.int64, copy=False)


def parse_widths(cells: Sequence[str]) -> IntArray:
    """Parser for widths."""
    return _numbers(cells, int, WIDTHS, WIDTH_RULE).astype(np.int64, copy=False)


def _numbers(cells: Sequence[str], read: Callable[[str], float], legal: Range, rule: str) -> NDArray[Any]:
    try:
        values = np.array(list(map(read, cells)))
    except ValueError:
        values = np.array([math.nan])
    # The smallest and the largest value speak for all; a NaN among them is both.
    # Python reads 1_000 as a number; in a file that is more likely damage.
    if legal.holds(values.min()) and legal.holds(values.max()) and "_" not in "".join(cells):
        return values
    raise bad_cell(cells, lambda cell: legal.holds(read(cell)) and "_" not in cell, rule)


def parse_dependencies(cells: Sequence[str]) -> Parsed:
    """Parser for lists of parents: JSON lists of ids, or of pairs of an id and megabytes; an empty cell means none."""
    none: tuple[Dependency, ...] = ()
    return [none if cell in ("[]", "") else _parents(index, cell) for index, cell in enumerate(cells)]


LIST_RULE = "a JSON list of task ids, like [1, 2], or of pairs with the MB that come from there, like [1, [2, 12.5]]"


def _parents(index: int, cell: str) -> tuple[Dependency, ...]:
    if not cell.strip():
        return ()
    try:
        parents = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadCellError(index, f"{shown(cell)} must be {LIST_RULE}") from error
    if not isinstance(parents, list):
        raise BadCellError(index, f"{shown(cell)} must be {LIST_RULE}")
    return tuple(_parent(index, cell, parent) for parent in parents)


def _parent(index: int, cell: str, parent: Any) -> Dependency:
    """One entry of a list of parents."""
    pair = parent if isinstance(parent, list) and len(parent) == 2 else (parent, 0.0)
    identity, megabytes = pair
    if type(identity) is not int or not IDS.holds(identity):
        raise BadCellError(index, f"{shown(cell)} holds {shown(str(identity))}, but each id must be {ID_RULE}")
    if type(megabytes) not in (int, float) or not MEGABYTES.holds(megabytes):
        problem = f"{shown(str(megabytes))} MB from task {identity}, but that must be {MEGABYTES}"
        raise BadCellError(index, f"{shown(cell)} holds {problem}")
    return (identity, float(megabytes)) if pair is parent else identity


def parse_kinds(cells: Sequence[str]) -> Parsed:
    """Parser for kinds. Interned: a file has a handful of different ones."""
    kinds = [sys.intern(cell.strip()) for cell in cells]
    if "" in kinds:
        raise BadCellError(kinds.index(""), "'' must be a kind, like 'matmul' or 'synthetic'")
    return kinds


def task_parsers(columns: Iterable[str], *, time_given: bool) -> dict[str, Parser]:
    """The parsers of these task columns; which sizes are legal depends on whether the time follows from them."""
    sizes, hint = size_rule(time_given=time_given)
    parsers: dict[str, Parser] = {
        "task_id": parse_ids,
        **{name: number_parser(legal) for name, legal in TASK_RANGES.items()},
        **dict.fromkeys(("size", "task_size"), number_parser(sizes, hint)),
        "dependencies": parse_dependencies,
        "kind": parse_kinds,
        "width": parse_widths,
    }
    return {name: parsers[name] for name in columns}


seconds_parser = partial(number_parser, SECONDS)
"""A parser for the seconds of a task on a device."""
