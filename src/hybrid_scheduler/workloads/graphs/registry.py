"""Graph presets by name."""

from __future__ import annotations

from hybrid_scheduler.workloads.graphs.base import GraphPreset
from hybrid_scheduler.workloads.graphs.cholesky import Cholesky
from hybrid_scheduler.workloads.graphs.fork_join import ForkJoin
from hybrid_scheduler.workloads.graphs.layered import Layered
from hybrid_scheduler.workloads.graphs.lu import Lu
from hybrid_scheduler.workloads.graphs.map_reduce import MapReduce
from hybrid_scheduler.workloads.graphs.qr import Qr

GRAPH_PRESETS: dict[str, type[GraphPreset]] = {
    preset.name: preset for preset in (Layered, ForkJoin, Cholesky, Lu, Qr, MapReduce)
}
"""Every kind of graph by name."""


def find_graph(name: str) -> GraphPreset | None:
    """The graph preset of this name, e.g. ``cholesky`` or ``cholesky:tiles=10``; None when it names none.

    Raises:
        InvalidInputError: A parameter is unknown or breaks its rule.
    """
    kind, _, parameters = name.partition(":")
    return GRAPH_PRESETS[kind].read(parameters) if kind in GRAPH_PRESETS else None
