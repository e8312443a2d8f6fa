"""The cycle in a graph of dependencies that must not have any."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from typing import TypeVar

K = TypeVar("K")


def find_cycle(parents: Mapping[K, Iterable[K]]) -> list[K] | None:
    """A cycle, each task before the one it waits for, the first again at the end; None when there is none."""
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as cycle:
        # graphlib lists parents before children.
        return list(reversed(cycle.args[1]))
    return None
