"""Explains a decision after the fact: what every device would have taken, what was chosen, and how far it is off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.energy import busy_energy
from hybrid_scheduler.physics.optimum import best_finish
from hybrid_scheduler.physics.world import World


class Alternative(NamedTuple):
    """One way to run a task.

    Attributes:
        device: The device, or the devices of a split, joined by " + ".
        gpu_fraction: Share of the task on GPUs.
        seconds: Execution time; None, as what follows, where the task cannot run.
        wait: Seconds before it starts; None, as `response`, also where the device is down or its queue not known.
        response: Seconds until it is done.
        energy: Joules.
        cost: Dollars.
        chosen: Whether the scheduler took it.
    """

    device: str
    gpu_fraction: float
    seconds: float | None
    wait: float | None
    response: float | None
    energy: float | None
    cost: float | None
    chosen: bool = False


def alternatives(
    world: World,
    memory_mb: float,
    seconds: FloatArray,
    wait: FloatArray,
    chosen: Alternative | None,
) -> list[Alternative]:
    """The whole task on each device, in the order of the devices.

    What was chosen takes the place of the device it names; a split stands at the end.

    Args:
        world: The devices and their prices.
        memory_mb: Megabytes of the task.
        seconds: What the whole task takes on each device; not finite where it cannot run.
        wait: How long it would wait for each device; not finite where it is down or nobody knows.
        chosen: What came, or will come, of the decision; None when the task failed.
    """
    cluster = world.cluster
    fits = np.array([device.kind == "cpu" or memory_mb <= device.memory_mb for device in cluster.devices])
    whole = np.where(fits & np.isfinite(seconds), seconds, np.nan)
    figures = np.stack(
        [whole, wait, wait + whole, busy_energy(cluster, whole), world.physics.busy_price(cluster) * whole]
    )
    options = []
    figures[1, np.isnan(whole)] = np.nan
    for device, column in zip(cluster.devices, figures.T.tolist(), strict=True):
        takes, waits, response, joules, dollars = (value if math.isfinite(value) else None for value in column)
        options.append(Alternative(device.name, float(device.kind == "gpu"), takes, waits, response, joules, dollars))
    if chosen is None:
        return options
    if chosen.device in cluster.names:
        options[cluster.names.index(chosen.device)] = chosen
        return options
    return [*options, chosen]


def best_finish_of(
    world: World,
    memory_mb: float,
    seconds: FloatArray,
    ready: float,
    free: FloatArray,
) -> float | None:
    """When the oracle's search would have had a task finished; None when no device can take it.

    Args:
        world: The devices and how they behave.
        memory_mb: Megabytes of the task.
        seconds: What the whole task takes on each device; infinite where it cannot run.
        ready: When it was decided.
        free: When each device is done with what it was given before.
    """
    times = np.empty((2, len(seconds)))
    times[FIXED] = world.cluster.column("latency")
    times[SHARED] = seconds - times[FIXED]
    end = float(best_finish(ready, memory_mb, world.cluster.public_table(), times, free, world.physics.facts()))
    return end if np.isfinite(end) else None


def reason_for(place: str, chosen: Alternative, options: Sequence[Alternative], regret: float | None) -> str:
    """A decision in words: what it cost, and how the best other device alone compares.

    Args:
        place: Where the task ran, in words.
        chosen: What came of it.
        options: All alternatives; none when they are not known.
        regret: Seconds above the best possible finish, None when that is not known.
    """
    text = f"{place}: {chosen.wait:.3g} s of waiting and {chosen.seconds:.3g} s of execution"
    others = [(other.response, other.device) for other in options if other.response is not None and not other.chosen]
    if others and chosen.response is not None:
        response, device = min(others, key=lambda other: other[0])
        if response < chosen.response:
            text += f"; {device} alone would have had it done after {response:.3g} s"
        else:
            text += f"; no other device alone would have been earlier (next: {device}, {response:.3g} s)"
    return text if regret is None else f"{text}; {regret:.3g} s above the best possible"
