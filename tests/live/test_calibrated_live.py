"""The live race on a calibrated node: kernels that were measured, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.hardware.calibration_file import write_machine
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.store import RunRow, SubmittedTask

NAMES = ("mct", "greedy", "oracle")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    rows = [
        Measurement("sort", size, device, 1e-4, factor * size)
        for size in (10.0, 1000.0)
        for device, factor in (("cpu_0", 1e-3), ("gpu_0", 1e-4))
    ]
    write_machine(tmp_path / "node.yaml", CalibratedMachine.of(rows, ClusterSpec.default(1), {}, {}))
    start = LiveStart(Config(), NAMES, load=0.3, seed=3, cluster=tmp_path / "node.yaml")
    return replace(Plan.of(start), flat_out=True)


def begun(plan: Plan, left: tuple[SubmittedTask, ...], said: list[str]) -> Session:
    run = RunRow(7, "live", "", 3, {}, NAMES, None, 5000, 10**9, None, 0, datetime.now(UTC), None, "running")
    return Session(plan, run, {}, left, lambda level, line: said.append(line))


def test_kernels_are_raced(plan: Plan) -> None:
    assert plan.preset == "kernels:kinds=sort,sizes=10-1000"
    assert plan.load == pytest.approx(0.3)
    session = begun(plan, (), [])
    finished = 0
    while finished < 100:
        finished += session.turn().finished
    assert session.tasks_seen >= 100


def test_tasks_that_nobody_measured_are_refused(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="unknown calibrated kind 'synthetic'"):
        plan.changed(tmp_path, preset="mixed")
    said: list[str] = []
    left = SubmittedTask(4001, 6, 900.0, 0.5, 40.0, (), datetime.now(UTC))
    session = begun(plan, (left,), said)
    # Accepted on another node: the race begins without it, and says so.
    assert any("task 4001, submitted to an earlier run, is not raced again" in line for line in said)
    with pytest.raises(InvalidInputError, match="unknown calibrated kind 'synthetic'"):
        session.submit([wanted(900.0, kind=None)])
    ((_, answer),) = session.submit([wanted(100.0, kind="sort")])
    assert len(answer["decisions"]) == len(NAMES)


def wanted(size: float, kind: str | None) -> dict[str, object]:
    memory, intensity = (40.0, 0.5) if kind is None else (None, None)
    return {
        "size": size,
        "compute_intensity": intensity,
        "memory_required": memory,
        "dependencies": (),
        "kind": kind,
    }
