"""The queues that the review reconstructs are checked against the race that made them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from raced_history import RACERS, make_tasks, store_race

from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.server.routes.tasks import _detail
from hybrid_scheduler.store import open_store


def _details(folder: Path, tasks: TaskBatch, physics: Physics | None = None) -> list[dict[str, Any]]:
    async def work() -> list[dict[str, Any]]:
        async with await open_store(f"sqlite+aiosqlite:///{folder}/store.db") as store:
            # Twice: what belongs to another run must not get in the way.
            await store_race(store, tasks, RACERS, physics)
            await store_race(store, tasks, RACERS, physics)
            return [await _detail(store, each) for each in await store.comparative(2 * len(tasks))]

    return asyncio.run(work())


def _report(detail: dict[str, Any], scheduler: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in detail["decisions"] if each["scheduler_name"] == scheduler)
    return found


@pytest.fixture(params=["alone", "parents", "serial"])
def details(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    tasks = make_tasks(70, rate=4.0, dependency_prob=0.3 if request.param == "parents" else 0.0)
    return _details(tmp_path, tasks, Physics(split="serial") if request.param == "serial" else None)


def test_the_oracle_has_no_regret_and_others_do(details: list[dict[str, Any]]) -> None:
    assert max(_report(each, "oracle")["regret"] for each in details) < 1e-9
    assert sum(_report(each, "cpu_only")["regret"] for each in details) > 1.0
    assert all(_report(each, name)["regret"] >= 0 for each in details for name in RACERS)


def test_a_whole_task_on_the_cpu_would_have_taken_what_it_took(details: list[dict[str, Any]]) -> None:
    """`cpu_only` chose the CPU: reconstructed from the tasks before, its wait must be the one that was measured."""
    waited = 0
    for detail in details:
        report, result = _report(detail, "cpu_only"), detail["results"]["cpu_only"]
        (chosen,) = (each for each in report["considered"] if each["chosen"])
        assert chosen["device"] == "cpu_0"
        assert chosen["response"] == result["response_time"]
        free_gpu = next(each for each in report["considered"] if each["device"] == "gpu_0")
        # Nobody uses GPUs there, so only parents can make one wait for them.
        if not detail["dependencies"]:
            assert free_gpu["wait"] == 0
        assert free_gpu["energy"] == pytest.approx(50 * free_gpu["seconds"])
        waited += result["wait_time"] > 0.01
    assert waited > 20


def test_reconstructed_waits_are_the_measured_ones(tmp_path: Path) -> None:
    """Computed as if nothing were known of the outcome: the wait of the chosen device follows from the parts before."""
    from hybrid_scheduler.server import considered as home

    checked = 0
    original = home._mark_chosen

    def compare(considered: list[dict[str, Any]], row: Any) -> None:
        nonlocal checked
        kept = [part.device for part in row.parts]
        for each in considered:
            if [each["device"]] == kept and row.gpu_fraction in (0.0, 1.0):
                assert each["wait"] == pytest.approx(row.wait_time, abs=1e-9)
                assert each["seconds"] == pytest.approx(row.actual_time)
                assert each["energy"] == pytest.approx(row.energy_consumption)
                assert each["cost"] == pytest.approx(row.execution_cost)
                checked += row.wait_time > 0
        original(considered, row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "_mark_chosen", compare)
        _details(tmp_path, make_tasks(70, rate=4.0, dependency_prob=0.3))
    assert checked > 60


def test_a_split_is_an_entry_of_its_own(tmp_path: Path) -> None:
    detail = _details(tmp_path, make_tasks(5))[0]
    report, result = _report(detail, "greedy"), detail["results"]["greedy"]
    assert 0 < result["gpu_fraction"] < 1
    (chosen,) = (each for each in report["considered"] if each["chosen"])
    assert chosen["device"] == f"gpu_{result['gpu_id']} + cpu_0"
    assert len(report["considered"]) == 4
    assert set(report["predicted"]) == {f"gpu_{result['gpu_id']}", "cpu_0"}


def test_without_a_described_node_there_is_nothing_to_consider() -> None:
    from hybrid_scheduler.config.world import World

    assert World.of({}) is None
    assert World.of({"cluster": {"devices": [{"name": "x", "kind": "abacus"}]}}) is None
    assert World.of({"cluster": {"devices": [{"name": "cpu_0", "kind": "cpu", "memory_mb": None}]}}) is not None
