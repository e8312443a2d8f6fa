"""What every device would have taken, and what was chosen: `Considered` of live decisions and of those of long ago."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.store.rows import ResultRow


def considered(
    cluster: ClusterSpec,
    physics: Physics,
    memory: float,
    seconds: Sequence[float | None],
    wait: Sequence[float],
    result: ResultRow,
) -> list[dict[str, Any]]:
    """The whole task on each device, then the chosen split if it is one.

    Args:
        cluster: The devices.
        physics: Their prices.
        memory: Megabytes of the task.
        seconds: What the whole task takes on each device; None where it cannot run.
        wait: How long it would wait for each device.
        result: What came, or will come, of the decision.
    """
    prices = physics.busy_price(cluster)
    rows = []
    for i, device in enumerate(cluster.devices):
        fits = device.kind == "cpu" or memory <= device.memory_mb
        takes = seconds[i] if fits else None
        rows.append(
            {
                "device": device.name,
                "gpu_fraction": float(device.kind == "gpu"),
                "seconds": takes,
                "wait": None if takes is None else wait[i],
                "response": None if takes is None else wait[i] + takes,
                "energy": None if takes is None else device.watts * takes,
                "cost": None if takes is None else float(prices[i]) * takes,
                "chosen": False,
            }
        )
    if not result.failed:
        _mark_chosen(rows, result)
    return rows


def _mark_chosen(rows: list[dict[str, Any]], result: ResultRow) -> None:
    """What was chosen stands there with what really came of it; a split becomes an entry of its own."""
    kept = [part.device for part in result.parts if not part.lost]
    entry = next((row for row in rows if [row["device"]] == kept), None)
    if entry is None:
        entry = {"device": " + ".join(kept)}
        rows.append(entry)
    entry.update(
        gpu_fraction=result.gpu_fraction,
        seconds=result.actual_time,
        wait=result.wait_time,
        response=result.response_time,
        energy=result.energy_consumption,
        cost=result.execution_cost,
        chosen=True,
    )
