"""Lanes by the name of a node: this machine's, or those of a Ray cluster."""

from __future__ import annotations

from hybrid_scheduler.hardware.nodes.lanes import Lanes, Work
from hybrid_scheduler.model.errors import InvalidInputError

MACHINE, RAY, RAY_ADDRESS = "machine", "ray", "ray://"


def check_node(node: str) -> None:
    """Refuse what names no node.

    Raises:
        InvalidInputError: It is neither `machine`, `ray` nor an address of a Ray cluster.
    """
    if node not in (MACHINE, RAY) and not node.startswith(RAY_ADDRESS):
        raise InvalidInputError(f"node is {node!r}, but it must be {MACHINE}, {RAY} or {RAY_ADDRESS}HOST:PORT")


def open_lanes(node: str, cpu_lanes: int | None = None, *, warm_up: Work | None = None) -> Lanes:
    """Start the lanes of a node, of devices that PyTorch can use; to be closed by whoever asks.

    Args:
        node: `machine`, `ray` (a cluster that is started here and ends with the lanes) or `ray://HOST:PORT`.
        cpu_lanes: How many lanes share the cores of each machine.
        warm_up: What every lane runs before it is up.

    Raises:
        InvalidInputError: There is no such node, or it has too few cores.
    """
    check_node(node)
    if node != MACHINE:
        raise InvalidInputError(f"node is {node!r}, but lanes of a Ray cluster are not to be had yet; use {MACHINE}")
    from hybrid_scheduler.hardware.nodes.machine import find_lanes

    return find_lanes(cpu_lanes, for_pytorch=True, warm_up=warm_up)
