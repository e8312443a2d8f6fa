"""Real kernels on worker processes: schedules pass the judge, and whatever goes wrong is accounted for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest
from failing_work import Fails

from hybrid_scheduler.hardware.nodes.kernel_work import KernelWork
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.lanes import Work
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.calibrated import CalibratedCost, Measurement
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.scenario.real_race import RealRace, RealRun, from_zero, kernel_works
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import PlainDevice, Rules, schedule_violations
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.kernel_preset import KernelPreset

CLOCK = 1e-3
"""Processes of one machine share a clock; what they do with it takes its time."""
KERNELS = KernelPreset(("matmul", "sort", "axpy", "fft"), (8, 64))
CLUSTER = ClusterSpec((Device("cpu_0", "cpu"), Device("cpu_1", "cpu")))


def stream(count: int, rate: float, seed: int = 5) -> TaskBatch:
    return from_zero(WorkloadGenerator(seed).generate(KERNELS, count, rate))


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessLanes]:
    ready = KernelsReady(tuple(kernel_works(stream(500, 1.0), 0)))
    lanes = ProcessLanes([Slot(device, hardware="core") for device in CLUSTER.devices], warm_up=ready)
    yield lanes
    lanes.close()


@pytest.fixture(scope="module")
def lanes(processes: ProcessLanes) -> ReusedLanes:
    return ReusedLanes(processes)


def wrong_with(tasks: TaskBatch, run: RealRun, scheduler: Scheduler) -> list[str]:
    devices = tuple(PlainDevice(d.name, d.kind, dollars_per_second=d.dollars_per_second) for d in CLUSTER.devices)
    rules = Rules(devices, waits=scheduler.dispatches, clock=CLOCK, accounted=frozenset(run.failures))
    return schedule_violations(tasks, run.outcomes, rules)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mct", "sjf", "hybrid_ml", "hybrid_queue", "rl_agent"])
def test_five_hundred_kernels_on_two_workers(name: str, lanes: ReusedLanes) -> None:
    tasks, scheduler = stream(500, 400.0), create_scheduler(name, seed=1)
    race = RealRace(tasks, kernel_works(tasks, 0), lanes, Physics())
    counts: list[int] = []
    run = race.run(scheduler, counts.append)
    assert wrong_with(tasks, run, scheduler) == []
    assert run.failures == {}
    assert not run.outcomes.failed.any()
    assert counts == list(range(1, 501))
    assert run.outcomes.task_id.tolist() == tasks.task_id.tolist()
    assert np.isfinite(run.outcomes.finish_time).all()
    assert run.outcomes.finish_time.max() > tasks.arrival_time.max()
    assert set(run.outcomes.part_device.tolist()) == {0, 1}
    assert np.isnan(run.outcomes.energy).all(), "nobody measured it here"
    assert run.decision_us > 0.0


def test_who_is_never_asked_has_no_time_of_a_decision(lanes: ReusedLanes) -> None:
    tasks = stream(1, 1.0)
    race = RealRace(tasks, kernel_works(tasks, 0), lanes, Physics())
    assert np.isnan(race.run(create_scheduler("mct")).decision_us), "the node tries what it knows nothing of"
    assert race.run(create_scheduler("round_robin")).decision_us > 0.0


@pytest.mark.slow
def test_what_goes_wrong_is_accounted_for(lanes: ReusedLanes, processes: ProcessLanes) -> None:
    failing = {30: "raises", 60: "hangs", 90: "dies"}
    drawn = stream(120, 200.0)
    tasks = TaskBatch.from_tasks(
        Task(t.task_id, 5000.0 if t.task_id in failing else t.size, 0.5, 1.0, t.arrival_time, kind=t.kind)
        for t in drawn
    )
    works: list[Work] = list(kernel_works(drawn, 0))
    for task_id, how in failing.items():
        works[task_id] = Fails(how)
    killed: list[int | None] = []

    def kill(done: int) -> None:
        if done == 20:
            killed.append(processes.pids[0])
            assert killed[0] is not None
            os.kill(killed[0], signal.SIGKILL)

    scheduler = create_scheduler("sjf")
    run = RealRace(tasks, works, lanes, Physics(), limit=2.0).run(scheduler, kill)
    assert wrong_with(tasks, run, scheduler) == []
    assert sorted(run.failures) == sorted(failing)
    assert run.outcomes.task_id[run.outcomes.failed].tolist() == sorted(failing)
    assert "ArithmeticError: no result" in run.failures[30]
    assert "longer than 2 s" in run.failures[60]
    assert "lost its lane 3 times" in run.failures[90]
    assert killed
    assert killed[0] not in processes.pids
    assert run.outcomes.part_lost.sum() >= 3


def test_only_kernels_run() -> None:
    with pytest.raises(InvalidInputError, match=r"task 3 is of kind 'synthetic'.* kinds with a kernel are matmul"):
        kernel_works(TaskBatch.from_tasks([Task(3, 100.0, 0.5, 1.0)]), 0)
    with pytest.raises(InvalidInputError, match=r"matmul of size 10\.5 cannot run"):
        kernel_works(TaskBatch.from_tasks([Task(3, 10.5, 0.5, 1.0, kind="matmul")]), 0)
    works = kernel_works(TaskBatch.from_tasks([Task(3, 10.0, 0.5, 1.0, kind="sort")]), 7)
    assert works == [KernelWork("sort", 10, 7)]


def test_who_needs_to_know_more_is_refused(lanes: ReusedLanes) -> None:
    tasks = stream(3, 100.0)
    race = RealRace(tasks, kernel_works(tasks, 0), lanes, Physics())
    with pytest.raises(InvalidInputError, match="nobody knows on a real node"):
        race.run(create_scheduler("oracle"))
    with pytest.raises(InvalidInputError, match=r"HeterogeneousEarliestFinishTime plans ahead .*hms calibrate"):
        race.run(create_scheduler("heft"))


@pytest.mark.parametrize("name", ["heft", "min_min", "mct"])
def test_with_a_calibration_planners_plan(name: str, lanes: ReusedLanes) -> None:
    tasks, sizes = stream(30, 1000.0), (8.0, 64.0)
    measured = [
        Measurement(kind, size, device.name, 1e-4, 1e-6 * size)
        for kind in KERNELS.kinds
        for size in sizes
        for device in CLUSTER.devices
    ]
    scheduler, physics = create_scheduler(name), Physics(cost=CalibratedCost(measured))
    run = RealRace(tasks, kernel_works(tasks, 0), lanes, physics).run(scheduler)
    assert wrong_with(tasks, run, scheduler) == []
    assert not run.outcomes.failed.any()
    expected = physics.nominal_times(tasks, CLUSTER).sum(axis=1)[run.outcomes.part_task, run.outcomes.part_device]
    np.testing.assert_allclose(run.outcomes.part_expected, expected)


def test_lanes_are_those_that_are_described(processes: ProcessLanes) -> None:
    described = ClusterSpec((Device("cpu_0", "cpu", watts=70.0), Device("cpu_1", "cpu", watts=70.0)))
    assert ReusedLanes(processes, described).cluster is described
    with pytest.raises(InvalidInputError, match="described as cpu_0, but this machine's lanes are cpu_0, cpu_1"):
        ReusedLanes(processes, ClusterSpec((Device("cpu_0", "cpu"),)))
