"""What a stream takes beyond the sum of its kernels: on lanes that take known times, and on this machine's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated_lanes import SimulatedLanes, TimedWork

from hybrid_scheduler.config import Config
from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.hardware.calibration import calibrated_lanes
from hybrid_scheduler.hardware.calibration_file import write_machine
from hybrid_scheduler.hardware.nodes.kernel_work import KernelWork
from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Job, LaneError
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.model.outcome import Outcome, PartRecord
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.calibrated import AT_WORK, CalibratedCost, Measurement
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.scenario import ScenarioOptions
from hybrid_scheduler.scenario.at_work import AtWork, at_work, calibrate_machine, shown_by
from hybrid_scheduler.workloads.kernel_kinds import kernel_columns


def machine() -> CalibratedMachine:
    """A CPU for what is small, a GPU for what is large."""
    times = {"cpu_0": (1e-5, 1.5), "gpu_0": (2e-3, 0.5)}
    rows = [
        Measurement(kind, size, device, 1e-4, first * (size / 10.0) ** power)
        for kind in ("sort", "fft")
        for size in (10.0, 1000.0)
        for device, (first, power) in times.items()
    ]
    return CalibratedMachine.of(rows, ClusterSpec.default(1), {}, {})


class KnownLanes(SimulatedLanes):
    """Kernels run as long as a machine says, times a factor of each device; nothing lies between two of them."""

    def __init__(self, machine: CalibratedMachine, factors: tuple[float, float], ending: Ending = Ending.DONE) -> None:
        super().__init__(machine.cluster, ending=lambda number, lane: ending if number else Ending.DONE)
        self._cost = replace(machine, pause=dict.fromkeys(machine.cluster.names, 0.0)).cost
        self._factors = factors

    def send(self, lane: int, job: Job) -> None:
        fixed = shared = np.zeros(2)
        if isinstance(job.work, KernelWork):
            figures = kernel_columns([job.work.kind], np.array([float(job.work.size)]))
            columns = (np.array([float(job.work.size)]), figures["compute_intensity"], figures["memory_required"])
            one = TaskBatch.from_columns(*columns, duration_estimate=figures["duration_estimate"], kind=[job.work.kind])
            times = self._cost.times(one, self.cluster)[0] * self._factors
            fixed, shared = times[FIXED], times[SHARED]
        super().send(lane, replace(job, work=TimedWork(job.number, fixed.tolist(), shared.tolist())))

    def wait(self, seconds: float) -> list[Event]:
        """A clock goes on; by less than this, the difference of two large figures may be off."""
        return super().wait(max(seconds, 1e-9))


def used(lanes: SimulatedLanes) -> ReusedLanes:
    """Lanes that are up."""
    reused = ReusedLanes(lanes)
    reused.wait(0.0)
    return reused


@pytest.mark.parametrize("factors", [(1.0, 1.0), (1.1, 1.4), (0.8, 1.0)])
def test_a_factor_that_lanes_have_is_found(factors: tuple[float, float]) -> None:
    streams: list[int] = []
    found = at_work(used(KnownLanes(machine(), factors)), machine(), 60, 3, streams.append)
    assert list(found.at_work) == list(found.pause) == ["cpu_0", "gpu_0"]
    assert list(found.at_work.values()) == pytest.approx(factors, rel=1e-6)
    assert list(found.pause.values()) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert streams == [1, 2, 3, 4]


def test_tasks_that_fail_end_it() -> None:
    with pytest.raises(LaneError, match="tasks of a stream failed"):
        at_work(used(KnownLanes(machine(), (1.0, 1.0), Ending.RAISED)), machine(), 20, 3)


def test_pauses_count_where_there_is_more_to_do() -> None:
    def outcome(task_id: int, arrival: float, start: float, end: float) -> Outcome:
        part = PartRecord("cpu_0", None, 1.0, start, end, 0.0)
        return Outcome(task_id, arrival, arrival, arrival, end, end - start, 0.0, 0.0, False, 0, (part,))

    runs = [outcome(2, 9.0, 9.0, 10.0), outcome(0, 0.0, 0.0, 1.0), outcome(1, 0.5, 1.5, 2.5)]
    # Three seconds of running; the second task was there half a second before it began, the third was not.
    found = shown_by(("cpu_0", "gpu_0"), runs, np.full((3, 2), 0.75))
    assert (found["cpu_0"].stretch, found["cpu_0"].pause) == pytest.approx((3.0 / 2.25, 0.5))
    assert found["gpu_0"] == AtWork(None, None)


def test_a_part_of_a_split_counts_only_for_the_pauses() -> None:
    parts = tuple(PartRecord(name, None, 0.5, 1.25, 2.0, 0.0) for name in ("cpu_0", "gpu_0"))
    whole = Outcome(0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, False, 0, (PartRecord("cpu_0", None, 1.0, 0.0, 1.0, 0.0),))
    split = Outcome(1, 0.5, 0.5, 0.5, 2.0, 0.75, 0.0, 0.0, False, 0, parts)
    found = shown_by(("cpu_0", "gpu_0"), [split, whole], np.full((2, 2), 0.8))
    assert (found["cpu_0"].stretch, found["cpu_0"].pause) == pytest.approx((1.25, 0.25))
    assert found["gpu_0"] == AtWork(None, None)


@pytest.mark.slow
def test_this_machine_is_measured_at_work(tmp_path: Path) -> None:
    phases: list[str] = []
    # Kernels of milliseconds: of shorter ones a busy machine says anything.
    with calibrated_lanes(["matmul", "sort"], [100, 200], cpu_lanes=1) as calibration:
        calibration.progress = lambda phase, rounds: phases.append(phase)
        found = calibrate_machine(calibration, tasks=40)
    assert phases[-1] == "at work"
    assert found.at_work.keys() == {"cpu_0"}
    assert AT_WORK.holds(found.at_work["cpu_0"])
    assert 0.0 <= found.pause["cpu_0"] < 1.0
    write_machine(tmp_path / "node.yaml", found)
    cost = ScenarioOptions(cluster=tmp_path / "node.yaml").world(Config()).physics.cost
    assert isinstance(cost, CalibratedCost)
    assert cost.at_work == {"cpu_0": pytest.approx(found.at_work["cpu_0"], rel=1e-3)}
    assert cost.pause == {"cpu_0": pytest.approx(found.pause["cpu_0"], rel=1e-3)}
