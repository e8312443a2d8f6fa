"""Lanes by the name of a node: this machine's, or those of a Ray cluster."""

from __future__ import annotations

from hybrid_scheduler.hardware.nodes.lanes import Lanes, Work
from hybrid_scheduler.hardware.workers import RAY, RAY_ADDRESS, is_ray
from hybrid_scheduler.model.errors import InvalidInputError

MACHINE = "machine"


def check_node(node: str) -> None:
    """Refuse what names no node.

    Raises:
        InvalidInputError: It is neither `machine`, `ray` nor an address of a Ray cluster.
    """
    if node != MACHINE and not is_ray(node):
        raise InvalidInputError(f"node is {node!r}, but it must be {MACHINE!r}, {RAY!r} or '{RAY_ADDRESS}HOST:PORT'")


def open_lanes(node: str, cpu_lanes: int | None = None, *, warm_up: Work | None = None) -> Lanes:
    """Start the lanes of a node, those that PyTorch can use; to be closed by whoever asks.

    Args:
        node: `machine`, `ray` (a cluster that is started here and ends with the lanes) or `ray://HOST:PORT`.
        cpu_lanes: How many lanes share the cores of each machine.
        warm_up: What every lane runs before it is up.

    Raises:
        InvalidInputError: There is no such node, or it has too few cores.
        MissingExtraError: Ray is not installed.
        OSError: The system does not start the processes.
    """
    check_node(node)
    if is_ray(node):
        from hybrid_scheduler.hardware.nodes.ray_lanes import open_ray_lanes

        return open_ray_lanes(node, cpu_lanes, warm_up=warm_up)
    from hybrid_scheduler.hardware.nodes.machine import find_lanes

    return find_lanes(cpu_lanes, for_pytorch=True, warm_up=warm_up)
