"""How the cells of each column are read and checked."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import FloatArray, IntArray
from hybrid_scheduler.model.task import TASK_RULES
from hybrid_scheduler.workloads.csv_cells import BadCellError, Parsed, Parser

Rule = tuple[str, Callable[[float], bool]]

_ID_RULE: Rule = TASK_RULES["task_id"]
SECONDS_RULE: Rule = ("a number of seconds above 0", lambda v: math.isfinite(v) and v > 0)
NUMBERS: dict[str, Rule] = {
    **{name: rule for name, rule in TASK_RULES.items() if name != "task_id"},
    "duration_estimate": SECONDS_RULE,
}
"""The columns of numbers and their rules."""


def shown(cell: str) -> str:
    """A cell as it appears in an error: quoted, on one line, not too long."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


def number_parser(rule: Rule, hint: str = "") -> Parser:
    """A parser for real numbers that must satisfy `rule`; `hint` is added to its errors."""

    def parse(cells: Sequence[str]) -> FloatArray:
        return _numbers(cells, float, rule, hint).astype(np.float64, copy=False)

    return parse


def parse_ids(cells: Sequence[str]) -> IntArray:
    """Parser for task ids."""
    return _numbers(cells, int, _ID_RULE, "").astype(np.int64, copy=False)


def _numbers(cells: Sequence[str], read: Callable[[str], float], rule: Rule, hint: str) -> NDArray[Any]:
    words, holds = rule
    try:
        values = np.array(list(map(read, cells)))
    except ValueError:
        values = np.array([math.nan])
    # Every rule is an interval, so the smallest and the largest value speak for all; a NaN among them is both.
    # Python reads 1_000 as a number; in a file that is more likely damage.
    if holds(values.min()) and holds(values.max()) and "_" not in "".join(cells):
        return values
    for index, cell in enumerate(cells):
        try:
            fine = holds(read(cell)) and "_" not in cell
        except ValueError:
            fine = False
        if not fine:
            raise BadCellError(index, f"{shown(cell)} must be {words}{hint}")
    raise AssertionError("a column that breaks a rule has a cell that does")


def parse_dependencies(cells: Sequence[str]) -> Parsed:
    """Parser for lists of parents: JSON lists of ids; an empty cell means none."""
    none: tuple[int, ...] = ()
    return [none if cell in ("[]", "") else _parents(index, cell) for index, cell in enumerate(cells)]


def _parents(index: int, cell: str) -> tuple[int, ...]:
    words, holds = _ID_RULE
    if not cell.strip():
        return ()
    try:
        parents = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadCellError(index, f"{shown(cell)} must be a JSON list of task ids, like [1, 2]") from error
    if not isinstance(parents, list):
        raise BadCellError(index, f"{shown(cell)} must be a JSON list of task ids, like [1, 2]")
    for parent in parents:
        if type(parent) is not int or not holds(parent):
            raise BadCellError(index, f"{shown(cell)} holds {shown(str(parent))}, but each id must be {words}")
    return tuple(parents)


def parse_kinds(cells: Sequence[str]) -> Parsed:
    """Parser for kinds. Interned: a file has a handful of different ones."""
    kinds = [sys.intern(cell.strip()) for cell in cells]
    if "" in kinds:
        raise BadCellError(kinds.index(""), "'' must be a kind, like 'matmul' or 'synthetic'")
    return kinds


TASK_PARSERS: dict[str, Parser] = {
    "task_id": parse_ids,
    **{name: number_parser(rule) for name, rule in NUMBERS.items()},
    "dependencies": parse_dependencies,
    "kind": parse_kinds,
}
"""The parser of every task column."""
