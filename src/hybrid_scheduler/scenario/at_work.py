"""What a stream of tasks takes beyond the sum of its kernels: the last piece of a calibration.

Kernels are measured one by one, of a few sizes, over and over. In a stream every task is another one, somebody decides
between two of them, and devices have been idle before some. So streams run for real, and their tasks' times are held
against the calibrated ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import fmean, median

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

PHASE = "at work"
"""The phase of a calibration that this is."""
AT_ONCE, LATER = "mct", "sjf"
"""Who places the tasks: one who queues them on devices at once, and one who lets them wait. Both go by their times, so
that every device does what it is good for."""
STREAMS = (AT_ONCE, LATER, AT_ONCE, LATER)
TASKS, FEWEST_TASKS = 150, 30
STREAM_SECONDS = 60.0
"""A stream has fewer tasks where so many would arrive for longer than this."""
SALT = 0x3A7


@dataclass(frozen=True, slots=True)
class AtWork:
    """What a stream shows of one device.

    Attributes:
        stretch: How many times as long as foretold whole tasks ran; None where there was none.
        pause: Seconds between two parts while there was more to do, in the mean; None where that never was so.
    """

    stretch: float | None
    pause: float | None


def calibrate_machine(calibration: Calibration, tasks: int = TASKS) -> CalibratedMachine:
    """All that is measured of a machine: its kernels one by one, then streams of them.

    Raises:
        LaneError: A lane was lost.
        InvalidInputError: A kernel raised an error or was too large.
    """
    machine = calibration.run()

    def progress(streams: int) -> None:
        calibration.progress(PHASE, round((calibration.repeats + 1) * streams / len(STREAMS)))

    return at_work(calibration.lanes, machine, tasks, calibration.seed, progress)


def at_work(
    lanes: Lanes, machine: CalibratedMachine, count: int, seed: int, progress: Callable[[int], None] = lambda _: None
) -> CalibratedMachine:
    """The machine, with how its devices are at work in streams of tasks; those without a task stay as they are.

    Of every figure the median of all streams, since something else on the machine may disturb one.

    Args:
        lanes: The lanes that were measured; all are up and idle.
        machine: What was measured.
        count: Tasks of a stream, at most.
        seed: Of the calibration. The streams are no other's of the same seed.
        progress: Told how many streams are done.

    Raises:
        LaneError: A lane was lost, or a task failed.
    """
    physics = Physics(cost=machine.cost)
    if machine.together is not None:
        physics = replace(physics, coexecution_penalty=machine.together.penalty)
    world = World(machine.cluster, physics)
    source = KernelTasks.known_to(KernelPreset(), machine.cost)
    load = Load(DEFAULT_LOAD)
    rate = DEFAULT_LOAD * Scenario(source, world, count, load, seed).capacity
    count = min(count, max(FEWEST_TASKS, round(rate * STREAM_SECONDS)))
    seeds = np.random.SeedSequence([seed, SALT]).generate_state(len(STREAMS)).tolist()
    streams = [from_zero(Scenario(source, world, count, load, each).batch()) for each in seeds]
    works = [tuple(kernel_works(tasks, seed)) for tasks in streams]
    _get_ready(lanes, KernelsReady(tuple(chain.from_iterable(works))))
    used = lanes if isinstance(lanes, ReusedLanes) else ReusedLanes(lanes)
    # What runs, without what lies between two tasks.
    running = replace(machine, pause=dict.fromkeys(world.cluster.names, 0.0)).cost
    found: dict[str, list[AtWork]] = {name: [] for name in world.cluster.names}
    for number, (name, tasks, todo) in enumerate(zip(STREAMS, streams, works, strict=True)):
        race = RealRace(tasks, todo, used, world.physics, limit=JOB_SECONDS, seed=seed)
        run = race.run(create_scheduler(name))
        if run.failures:
            raise LaneError(f"{len(run.failures)} tasks of a stream failed: {next(iter(run.failures.values()))}")
        outcomes = list(run.outcomes)
        if any(part.lost for outcome in outcomes for part in outcome.parts):
            raise LaneError("a lane was lost during a stream; calibrate again")
        foretold = running.times(tasks, world.cluster).sum(axis=1)
        for device, shown in shown_by(world.cluster.names, outcomes, foretold).items():
            # A device may be idle because who lets tasks wait wants it so.
            found[device].append(shown if name == AT_ONCE else replace(shown, pause=None))
        progress(number + 1)
    return replace(machine, at_work=_medians(found, "stretch"), pause=_medians(found, "pause"))


def shown_by(names: Sequence[str], outcomes: Sequence[Outcome], foretold: FloatArray) -> dict[str, AtWork]:
    """What a stream shows of each device.

    Args:
        names: Of the devices.
        outcomes: Of the tasks, none of them lost.
        foretold: A row per outcome, its seconds on every device.
    """
    found = {}
    for column, name in enumerate(names):
        wholes = [row for row, outcome in enumerate(outcomes) if [part.device for part in outcome.parts] == [name]]
        took = sum(outcomes[row].parts[0].end - outcomes[row].parts[0].start for row in wholes)
        stretch = took / float(foretold[wholes, column].sum()) if wholes else None
        parts = sorted(
            (part.start, part.end, outcome.arrival_time)
            for outcome in outcomes
            for part in outcome.parts
            if part.device == name
        )
        pauses = [start - end for (_, end, _), (start, _, arrival) in pairwise(parts) if arrival < end]
        found[name] = AtWork(stretch, fmean(pauses) if pauses else None)
    return found


def _medians(found: Mapping[str, Sequence[AtWork]], figure: str) -> dict[str, float]:
    """Of each device, over the streams that show it; devices of which none does are left out."""
    known = {name: [getattr(each, figure) for each in shown] for name, shown in found.items()}
    known = {name: [value for value in values if value is not None] for name, values in known.items()}
    return {name: median(values) for name, values in known.items() if values}


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
            name = lanes.cluster.names[event.lane]
            if not isinstance(event, Report):
                raise LaneError(f"{name} was lost while it got ready for a stream; try again")
            if event.ending is not Ending.DONE:
                raise LaneError(f"{name} cannot get ready for a stream: {event.error}") from event.error
            unfinished.discard(event.lane)
