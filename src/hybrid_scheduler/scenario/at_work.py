"""What a stream of tasks takes beyond the sum of its kernels: the last piece of a calibration.

Kernels are measured one by one, of a few sizes, over and over. In a stream every task is another one, somebody decides
between two of them, and devices have been idle before some. So streams run for real, and their tasks' times are held
against the calibrated ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from statistics import median

import numpy as np

from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.hardware.calibration import Calibration
from hybrid_scheduler.hardware.lane_bench import JOB_SECONDS
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.lanes import Ending, Job, LaneError, Lanes, Report, Work
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.real_race import RealRace, from_zero, kernel_works
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD, Load, Scenario
from hybrid_scheduler.scenario.sources import KernelTasks
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads.kernel_preset import KernelPreset

AT_WORK = "at work"
"""The phase of a calibration that this is."""
TASKS, STREAMS = 150, 3
SCHEDULER = "mct"
"""Places whole tasks by their times, so that every device does what it is good for."""
SALT = 0x3A7


def calibrate_machine(calibration: Calibration, tasks: int = TASKS) -> CalibratedMachine:
    """All that is measured of a machine: its kernels one by one, then streams of them.

    Raises:
        LaneError: A lane was lost.
        InvalidInputError: A kernel raised an error or was too large.
    """
    machine = calibration.run()
    stretches = at_work(calibration.lanes, machine, tasks, calibration.seed)
    calibration.progress(AT_WORK, calibration.repeats + 1)
    return replace(machine, at_work=stretches)


def at_work(lanes: Lanes, machine: CalibratedMachine, count: int, seed: int) -> dict[str, float]:
    """How many times as long as measured tasks occupy each device in a stream; devices without a task are left out.

    The median of `STREAMS` streams, since something else on the machine may disturb one.

    Args:
        lanes: The lanes that were measured; all are up and idle.
        machine: What was measured.
        count: Tasks of a stream.
        seed: Of the calibration. The streams are no other's of the same seed.

    Raises:
        LaneError: A lane was lost, or a task failed.
    """
    world = World(machine.cluster, Physics(cost=machine.cost))
    source = KernelTasks.known_to(KernelPreset(), machine.cost)
    seeds = np.random.SeedSequence([seed, SALT]).generate_state(STREAMS).tolist()
    streams = [from_zero(Scenario(source, world, count, Load(DEFAULT_LOAD), each).batch()) for each in seeds]
    works = [tuple(kernel_works(tasks, seed)) for tasks in streams]
    _get_ready(lanes, KernelsReady(tuple(chain.from_iterable(works))))
    used = lanes if isinstance(lanes, ReusedLanes) else ReusedLanes(lanes)
    found: dict[str, list[float]] = {}
    for tasks, todo in zip(streams, works, strict=True):
        run = RealRace(tasks, todo, used, world.physics, limit=JOB_SECONDS, seed=seed).run(create_scheduler(SCHEDULER))
        if run.failures:
            raise LaneError(f"{len(run.failures)} tasks of a stream failed: {next(iter(run.failures.values()))}")
        foretold = machine.cost.times(tasks, world.cluster).sum(axis=1)
        for name, factor in stretches(world.cluster.names, list(run.outcomes), foretold).items():
            found.setdefault(name, []).append(factor)
    return {name: median(factors) for name, factors in found.items()}


def stretches(names: Sequence[str], outcomes: Sequence[Outcome], foretold: FloatArray) -> dict[str, float]:
    """How many times as long as foretold tasks occupied each device, in sum.

    A task occupies its device while it runs, and as long as a device that has more to do is idle between two tasks in
    the mean.

    Args:
        names: Of the devices.
        outcomes: Of whole tasks.
        foretold: A row per outcome, its seconds on every device.
    """
    found = {}
    for column, name in enumerate(names):
        rows = [row for row, outcome in enumerate(outcomes) if outcome.parts[0].device == name]
        if not rows:
            continue
        rows.sort(key=lambda row: outcomes[row].parts[0].start)
        starts, ends = (np.array([getattr(outcomes[row].parts[0], end) for row in rows]) for end in ("start", "end"))
        arrivals = np.array([outcomes[row].arrival_time for row in rows])
        has_more = arrivals[1:] < ends[:-1]
        pauses = (starts[1:] - ends[:-1])[has_more]
        occupied = float((ends - starts).sum()) + len(rows) * (float(pauses.mean()) if len(pauses) else 0.0)
        found[name] = occupied / float(foretold[rows, column].sum())
    return found


def _get_ready(lanes: Lanes, work: Work) -> None:
    """Have every lane do this.

    Raises:
        LaneError: One was lost meanwhile, or could not.
    """
    unfinished = set(range(len(lanes.cluster.devices)))
    for lane in unfinished:
        lanes.send(lane, Job(0, work, limit=JOB_SECONDS))
    while unfinished:
        for event in lanes.wait(JOB_SECONDS):
            if not isinstance(event, Report) or event.ending is not Ending.DONE:
                raise LaneError(
                    f"{lanes.cluster.names[event.lane]} was lost while it got ready for a stream; try again"
                )
            unfinished.discard(event.lane)
