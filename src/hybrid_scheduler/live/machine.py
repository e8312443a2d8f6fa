"""This machine as the node of a live race: its lanes, and what can race on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.hardware.nodes.kernel_work import KernelWarmUp, KernelWork
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.lanes import LaneError, Lanes, Work
from hybrid_scheduler.hardware.nodes.machine import find_slots
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.live.machine_race import MachineRace
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import RecordedTasks
from hybrid_scheduler.scenario.real_race import LIMIT_SECONDS, kernel_works, times_for
from hybrid_scheduler.scenario.sources import KernelTasks, Source
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import KernelPreset
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

WARM_SIZE = 64
"""Every kernel is called once at this size before a lane is up."""
REHEARSAL_TASKS = 8


@dataclass(frozen=True)
class Machine:
    """The lanes of this machine.

    Attributes:
        slots: What each lane has of the machine.
    """

    slots: tuple[Slot, ...]

    @classmethod
    def find(cls, cpu_lanes: int | None) -> Machine:
        """What is here.

        Args:
            cpu_lanes: As for `find_slots`.

        Raises:
            InvalidInputError: There are not so many cores.
        """
        return cls(find_slots(cpu_lanes, for_pytorch=True))

    @property
    def cluster(self) -> ClusterSpec:
        """The devices; figures nobody measured are the defaults."""
        return ClusterSpec(tuple(slot.device for slot in self.slots))

    def check_cluster(self, cluster: ClusterSpec) -> None:
        """Refuse a description of other devices.

        Raises:
            InvalidInputError: It is one.
        """
        if [(d.name, d.kind) for d in cluster.devices] != [(d.name, d.kind) for d in self.cluster.devices]:
            raise InvalidInputError(
                f"the node is described as {', '.join(cluster.names)}, but the lanes of this machine are "
                f"{', '.join(self.cluster.names)}; calibrate with as many lanes as are used, or leave the cluster out"
            )

    def race(
        self, schedulers: Mapping[str, Scheduler], world: World, seed: int, log: Log, lanes: Lanes | None = None
    ) -> MachineRace:
        """Start the lanes and the race over them.

        Args:
            schedulers: The contestants by name.
            world: The devices and prices; its times are the estimates if they are calibrated.
            seed: Of the kernels' data and of samples.
            log: Called with a level and a line for the log.
            lanes: Others than those of the slots.

        Raises:
            LaneError: The system does not start the processes.
        """
        for scheduler in schedulers.values():
            _rehearse(scheduler, world, seed)
        return MachineRace(
            schedulers,
            self._lanes(seed) if lanes is None else lanes,
            world,
            times=lambda shared: times_for(shared, world.physics),
            work=lambda task: kernel_of(task, seed),
            ready=_ready,
            log=log,
            limit=LIMIT_SECONDS,
            seed=seed,
        )

    def _lanes(self, seed: int) -> ProcessLanes:
        warm_up = KernelWarmUp.of(KernelWork(kind, WARM_SIZE, seed) for kind in KERNEL_KINDS)
        try:
            return ProcessLanes(self.slots, warm_up=warm_up)
        except OSError as error:
            raise LaneError(f"the lanes of this machine cannot be started: {error}") from error


def _rehearse(scheduler: Scheduler, world: World, seed: int) -> None:
    """Let a copy of a scheduler decide a few simulated tasks: what it loads and compiles is no part of its first turn.

    One that fails here fails there, too, and is taken out then.
    """
    tasks = KernelPreset(sizes=(WARM_SIZE, WARM_SIZE)).generate(seed, REHEARSAL_TASKS, rate=100.0)
    uncalibrated = replace(world, physics=replace(world.physics, cost=FormulaCost()))
    with suppress(HybridSchedulerError), named_failures(scheduler):
        Race(tasks, uncalibrated).run(scheduler.clone(), compiled=False)


def _ready(works: Sequence[Work]) -> Work:
    return KernelsReady(tuple(work for work in works if isinstance(work, KernelWork)))


def kernel_of(task: Task, seed: int) -> KernelWork:
    """What a task of a kernel does."""
    return KernelWork(task.kind, int(task.size), seed)


def refuse_unreal(source: Source, seed: int) -> None:
    """Refuse tasks that nothing here can run.

    Raises:
        InvalidInputError: Some of them are none of kernels, or occupy several devices.
    """
    if isinstance(source, RecordedTasks):
        kernel_works(source.tasks, seed)
        if len(source.tasks.width) and int(source.tasks.width.max()) > 1:
            raise InvalidInputError(f"{source.name} has tasks on several devices at once, which no kernel runs on")
    elif not isinstance(source, KernelTasks):
        raise InvalidInputError(
            f"preset {source.preset} makes tasks that only a simulated node can run; on this machine take preset "
            "kernels, or a trace of kernels"
        )


def why_not(name: str, world: World) -> str:
    """Why a scheduler cannot race on a real node; empty when it can."""
    scheduler = create_scheduler(name)
    if scheduler.knows_truth:
        return f"{name} needs to know how long tasks will take, which nobody knows of real work"
    if scheduler.plans and scheduler.uses_estimates and not isinstance(world.physics.cost, CalibratedCost):
        return (
            f"{name} plans ahead with the times of all tasks, which nobody knows of this machine yet; calibrate it "
            "(hms calibrate) and give the node as --cluster"
        )
    return ""
