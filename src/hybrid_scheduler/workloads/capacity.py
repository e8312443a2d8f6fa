"""Capacity of a node: the rate at which even a perfect assignment would be busy all the time (what `--load` refers to).

For a preset it is the rate of the fluid optimum (`physics.fluid`) on a fixed sample of a million tasks. The sample is
drawn anew from its seed when it is needed (about a second); the answers for default nodes lie in `capacity.json` beside
this file. After a change of a preset, of the generator or of the cost formula, write that file again::

    python -m hybrid_scheduler.workloads.capacity
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Unpack, get_args

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.cost import FormulaCost, Speedup
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.fluid import fluid_makespan
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.presets import PRESETS
from hybrid_scheduler.workloads.shapes import FeatureRanges

SAMPLE_TASKS = 1_000_000
SAMPLE_SEED = 0
STORED_GPUS = range(9)
"""Default nodes with this many GPUs have their capacity in the file."""
_FILE = "capacity.json"

_computed: dict[tuple[str, str, str], float] = {}


def capacity(preset: str, world: World, **ranges: Unpack[FeatureRanges]) -> float:
    """Tasks per second of a preset that a node can do at most.

    At once for default nodes, from the file in the package; a second or two for another node (four for 32
    unlike devices), once per process.

    Args:
        preset: Name of a preset.
        world: The node; only speeds, links and the cost model count.
        ranges: `size_range`, `intensity_range`, `memory_range` that the preset is mapped onto.

    Raises:
        InvalidInputError: There is no such preset, or the cost model does not know the tasks of a preset.
    """
    cost = world.physics.cost
    if type(cost) is not FormulaCost:
        return capacity_of_tasks(_sample(preset, **ranges), world)
    changed = {name: wanted for name, wanted in ranges.items() if wanted is not None}
    key = (preset, describe(world.cluster, cost.speedup), repr(changed))
    stored = _stored().get(preset, {}).get(key[1])
    if stored is not None and not changed:
        return stored
    if key not in _computed:
        _computed[key] = capacity_of_tasks(_sample(preset, **ranges), world)
    return _computed[key]


def capacity_of_tasks(tasks: TaskBatch, world: World) -> float:
    """Tasks per second of the fluid optimum on these very tasks, all at hand from the start: for traces and tables."""
    if len(tasks) == 0:
        raise InvalidInputError("there are no tasks, so they have no rate; give at least one")
    cluster, cost = world.cluster, world.physics.cost
    if type(cost) is not FormulaCost:
        return len(tasks) / fluid_makespan(cost.times(tasks, cluster).sum(axis=1) * _occupied(tasks))
    # Equal devices are as fast as one that is as fast as all of them: a thousand GPUs need one column.
    number = Counter(map(_figures, cluster.devices))
    distinct = {_figures(device): device for device in cluster.devices}
    whole = cost.times(tasks, ClusterSpec(tuple(distinct.values()))).sum(axis=1) * _occupied(tasks)
    return len(tasks) / fluid_makespan(whole / np.array([number[figures] for figures in distinct]))


def _occupied(tasks: TaskBatch) -> FloatArray:
    """What a task takes of all devices over its time: its width, and what it really takes over its estimate."""
    occupied = np.ones((1, 1))
    for factor in (tasks.width, tasks.time_factor):
        if len(factor):
            occupied = occupied * factor[:, None]
    return occupied


def describe(cluster: ClusterSpec, speedup: Speedup) -> str:
    """What the capacity of a node depends on, in words: nothing of names, order, memory, watts, prices and places."""
    number = Counter(map(_figures, cluster.devices))
    return "; ".join([speedup, *(f"{number[figures]} {figures}" for figures in sorted(number))])


def _figures(device: Device) -> str:
    link = "" if device.kind == "cpu" else f" bandwidth={device.bandwidth:.17g}"
    return f"{device.kind} speed={device.speed:.17g}{link} latency={device.latency:.17g}"


def _sample(preset: str, **ranges: Unpack[FeatureRanges]) -> TaskBatch:
    return WorkloadGenerator(SAMPLE_SEED).generate(preset, SAMPLE_TASKS, **ranges)


@cache
def _stored() -> dict[str, dict[str, float]]:
    text = files("hybrid_scheduler.workloads").joinpath(_FILE).read_text(encoding="utf-8")
    stored: dict[str, dict[str, float]] = json.loads(text)["capacity"]
    return stored


def computed_file() -> str:
    """The contents `capacity.json` should have, worked out anew (half a minute)."""
    entries: dict[str, dict[str, float]] = {}
    for preset in PRESETS:
        tasks = _sample(preset)
        entries[preset] = {}
        for speedup in get_args(Speedup):
            for gpus in STORED_GPUS:
                cluster = ClusterSpec.default(gpus)
                rate = capacity_of_tasks(tasks, World(cluster, Physics(FormulaCost(speedup))))
                entries[preset][describe(cluster, speedup)] = rate
    sample = {"tasks": SAMPLE_TASKS, "seed": SAMPLE_SEED}
    return json.dumps({"unit": "tasks per second", "sample": sample, "capacity": entries}, indent=1) + "\n"


if __name__ == "__main__":
    target = Path(__file__).with_name(_FILE)
    target.write_text(computed_file(), encoding="utf-8")
    sys.stdout.write(f"wrote {target.name}\n")
