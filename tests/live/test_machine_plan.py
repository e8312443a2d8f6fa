"""What a race of real work can be made of, and what users' kernels are in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from simulated_lanes import SimulatedLanes

from hybrid_scheduler.config import Config
from hybrid_scheduler.hardware.nodes.lanes import LaneError
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.live import machine
from hybrid_scheduler.live.machine_race import MachineRace
from hybrid_scheduler.live.models import of_node
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.simulated_race import SimulatedRace
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.live.users_tasks import check_kernel, kernel_like, task_again, task_asked_for
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.store import ModelVersionRow, RunRow, SubmittedTask
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

SLOTS = (Slot(Device("cpu_0", "cpu"), hardware="a core"), Slot(Device("cpu_1", "cpu"), hardware="a core"))
NAMES = ("round_robin", "sjf")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that is found, whatever this one is."""

    def find(cpu_lanes: int | None, *, for_pytorch: bool) -> tuple[Slot, ...]:
        assert for_pytorch
        return SLOTS[: 2 if cpu_lanes is None else cpu_lanes]

    monkeypatch.setattr(machine, "find_slots", find)


def start(**said: Any) -> LiveStart:
    return LiveStart(**{"config": Config(), "node": "machine", "seed": 3, **said})


def test_it_races_kernels_on_the_lanes_of_this_machine_without_the_oracle() -> None:
    plan = Plan.of(start())
    assert plan.world.cluster.names == ("cpu_0", "cpu_1")
    assert {"sjf", "round_robin"} < set(plan.schedulers)
    assert "oracle" not in plan.schedulers
    document = plan.document()
    assert (document["node"], document["devices"], document["speed"]) == ("machine", ["cpu_0", "cpu_1"], 1.0)
    assert document["preset"].startswith("kernels:")
    assert Plan.of(start(lanes=1)).document()["devices"] == ["cpu_0"]
    simulated = Plan.of(start(node="simulated"))
    assert simulated.document()["node"] == "simulated"
    assert isinstance(simulated.race({"sjf": simulated.build("sjf")}, lambda level, line: None), SimulatedRace)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"speed": 2.0}, "real work takes the time it takes"),
        ({"schedulers": ("sjf", "oracle")}, "nobody knows of real work"),
        ({"schedulers": ("heft",)}, "calibrate it"),
        ({"preset": "mixed"}, "only a simulated node can run"),
        ({"preset": "cholesky:tiles=4"}, "only a simulated node can run"),
        ({"node": "cloud"}, "simulated, machine"),
        ({"node": "simulated", "lanes": 2}, "lanes .2. are those of a real node"),
    ],
)
def test_what_cannot_be_real_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        Plan.of(start(**said))


def test_traces_of_kernels_are_raced_and_others_are_not(tmp_path: Path) -> None:
    kernels, others = tmp_path / "kernels.csv", tmp_path / "others.csv"
    kernels.write_text("kind,size,arrival_time\nsort,100,0\naxpy,50,1\nsort,200,3\n")
    others.write_text("size,compute_intensity,memory_required,arrival_time\n500,0.5,20,0\n700,0.2,30,1\n")
    plan = Plan.of(start(trace=kernels))
    arrived = plan.source(0.0).until(100.0, 3, 0)
    assert arrived is not None
    assert [task.kind for task in arrived.tasks] == ["sort", "axpy", "sort"]
    with pytest.raises(InvalidInputError, match="kinds with a kernel"):
        Plan.of(start(trace=others))
    with pytest.raises(InvalidInputError, match="kinds with a kernel"):
        plan.changed(tmp_path, trace="others.csv")


def test_settings_that_say_nothing_new_are_taken(tmp_path: Path) -> None:
    plan = Plan.of(start())
    changed = plan.changed(tmp_path, speed=1.0, flat_out=False, arrival_rate=7.0)
    assert (changed.rate, changed.machine) == (7.0, plan.machine)
    for change in ({"speed": 2.0}, {"flat_out": True}):
        with pytest.raises(InvalidInputError, match="only a race on simulated nodes has a speed"):
            plan.changed(tmp_path, **change)


def test_a_description_of_another_node_is_refused(tmp_path: Path) -> None:
    described = tmp_path / "node.yaml"
    described.write_text("devices:\n  - {name: cpu_0, kind: cpu}\n  - {name: gpu_0, kind: gpu}\n")
    with pytest.raises(InvalidInputError, match="cpu_0, gpu_0, but the lanes of this machine are cpu_0"):
        Plan.of(start(cluster=described))
    described.write_text("devices:\n  - {name: cpu_0, kind: cpu, watts: 7}\n")
    plan = Plan.of(start(cluster=described))
    assert plan.world.cluster.devices[0].watts == 7.0
    assert plan.document()["devices"] == ["cpu_0"], "as many lanes as it describes"


@pytest.mark.parametrize("kind", sorted(KERNEL_KINDS))
def test_a_kernel_that_was_submitted_is_known_again(kind: str) -> None:
    for size in (1.0, 63.0, 100.0, 1537.0, 20_000.0):
        task = task_asked_for({"kind": kind, "size": size, "compute_intensity": 0.1, "memory_required": 1.0}, 5, 2.0)
        assert (task.kind, task.size, task.arrival_time) == (kind, size, 2.0)
        kept = SubmittedTask(9, 1, size, task.compute_intensity, task.memory_required, (), datetime.now(UTC))
        assert kernel_like(kept) == kind
        assert task_again(kept, 5, 2.0) == task


def test_what_is_no_kernel_stays_what_it_is() -> None:
    asked: Mapping[str, Any] = {"kind": None, "size": 100.5, "compute_intensity": 0.5, "memory_required": 20.0}
    check_kernel(asked)
    task = task_asked_for(asked, 1, 0.0)
    kept = SubmittedTask(9, 1, 100.5, 0.5, 20.0, (), datetime.now(UTC))
    assert kernel_like(kept) is None
    assert task_again(kept, 1, 0.0) == task
    for size in (10.5, 0.5, 30_000.0):
        with pytest.raises(InvalidInputError, match="size of sort"):
            check_kernel({**asked, "kind": "sort", "size": size})


def test_processes_that_do_not_start_are_an_error_with_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(slots: tuple[Slot, ...], **rest: Any) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr(machine, "ProcessLanes", refuse)
    plan = Plan.of(start())
    with pytest.raises(LaneError, match="cannot be started: too many processes"):
        plan.race({"sjf": plan.build("sjf")}, lambda level, line: None)


def test_learners_of_real_work_are_kept_apart(tmp_path: Path) -> None:
    def saved(number: int, path: Path) -> ModelVersionRow:
        return ModelVersionRow(number, "hybrid_ml", datetime.now(UTC), 10, None, None, str(path))

    simulated = saved(1, tmp_path / "hybrid_ml" / "000001-hybrid_ml.pkl")
    real = saved(2, tmp_path / "machine" / "hybrid_ml" / "000001-hybrid_ml.pkl")
    assert of_node([simulated, real], tmp_path) == [simulated]
    assert of_node([simulated, real], tmp_path / "machine") == [real]


def test_a_session_of_real_work_has_rows_without_labels_and_figures_without_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everything but the lanes is as in the service; the lanes refuse kernels, which they cannot time."""
    plan = Plan.of(start(schedulers=NAMES))
    race: list[MachineRace] = []

    def simulated(
        self: machine.Machine, schedulers: Mapping[str, Scheduler], world: World, seed: int, log: Log
    ) -> MachineRace:
        race.append(real_race(self, schedulers, world, seed, log, SimulatedLanes(self.cluster)))
        return race[-1]

    real_race = machine.Machine.race
    monkeypatch.setattr(machine.Machine, "race", simulated)
    run = RunRow(7, "live", "", 3, {}, NAMES, None, 5000, 10**9, None, 0, datetime.now(UTC), None, "running")
    session = Session(plan, run, {}, (), lambda level, line: None)
    assert session.race is race[0]
    session.change(replace(plan, scenario=replace(plan.scenario)))
    entry = session.comparison()[0]
    assert (entry["gap"], entry["overloaded"], entry["state"]) == (None, False, "racing")
    assert session.figures.bounds.document() == dict.fromkeys(("avg_time", "avg_response", "avg_energy", "avg_cost"))
    (answer,) = session.submit(
        [{"kind": "sort", "size": 300.0, "compute_intensity": 0.5, "memory_required": 1.0, "dependencies": ()}]
    )
    assert answer[1]["task"]["kind"] == "sort"
    assert all("next round" in decision["reason"] for decision in answer[1]["decisions"])
    session.close()
