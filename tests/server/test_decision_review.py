"""What the review says of a decision is checked against the race in which it was made."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from raced_history import RACERS, make_tasks, store_race

from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.server.routes.tasks import _detail
from hybrid_scheduler.store import open_store


def _details(
    folder: Path, tasks: TaskBatch, physics: Physics | None = None, *, queues: bool = True
) -> list[dict[str, Any]]:
    async def work() -> list[dict[str, Any]]:
        async with await open_store(f"sqlite+aiosqlite:///{folder}/store.db") as store:
            # Twice: what belongs to another run must not get in the way.
            await store_race(store, tasks, RACERS, physics)
            await store_race(store, tasks, RACERS, physics, queues=queues)
            return [await _detail(store, each) for each in await store.comparative(len(tasks))]

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
    """`cpu_only` chose the CPU: its wait must be the one that was measured."""
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


def test_waits_by_the_stored_queues_are_the_measured_ones(tmp_path: Path) -> None:
    """Computed as if nothing were known of the outcome: the wait of the chosen device follows from its queue."""
    from hybrid_scheduler.server import decision_review as home

    checked = 0
    original: Any = home.alternatives  # type: ignore[attr-defined]

    def compare(*arguments: Any) -> Any:
        nonlocal checked
        *known, chosen = arguments
        for option in original(*known, None):
            if option.device == chosen.device:
                assert chosen._replace(chosen=False) == pytest.approx(option, abs=1e-9)
                checked += chosen.wait > 0
        return original(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "alternatives", compare)
        _details(tmp_path, make_tasks(70, rate=4.0, dependency_prob=0.3))
    assert checked > 30


def test_a_split_is_an_entry_of_its_own(tmp_path: Path) -> None:
    detail = _details(tmp_path, make_tasks(5))[0]
    report, result = _report(detail, "greedy"), detail["results"]["greedy"]
    assert 0 < result["gpu_fraction"] < 1
    (chosen,) = (each for each in report["considered"] if each["chosen"])
    assert chosen["device"] == f"gpu_{result['gpu_id']} + cpu_0"
    assert len(report["considered"]) == 4
    assert set(report["predicted"]) == {f"gpu_{result['gpu_id']}", "cpu_0"}


def test_queues_that_are_not_stored_are_unknown_and_not_guessed(tmp_path: Path) -> None:
    details = _details(tmp_path, make_tasks(40, rate=4.0), queues=False)
    for detail in details:
        for report in detail["decisions"]:
            assert report["regret"] is None
            assert "the queues of the other devices at that moment are not known" in report["reason"]
            others = [each for each in report["considered"] if not each["chosen"]]
            assert {(each["wait"], each["response"]) for each in others} == {(None, None)}
            assert all(each["seconds"] > 0 for each in others)
            (chosen,) = (each for each in report["considered"] if each["chosen"])
            assert chosen["response"] == detail["results"][report["scheduler_name"]]["response_time"]


def test_a_device_that_was_down_is_no_choice(tmp_path: Path) -> None:
    from hybrid_scheduler.config.world import stored_world
    from hybrid_scheduler.server.decision_review import review

    async def look() -> list[dict[str, Any]]:
        async with await open_store(f"sqlite+aiosqlite:///{tmp_path}/store.db") as store:
            run = await store_race(store, make_tasks(3), ("cpu_only",))
            (newest, *_), (label, *_) = await store.comparative(1), await store.training(1)
            row = newest.results[0]
            assert row.ready_time is not None
            assert row.queue_seconds == (row.parts[0].start - row.ready_time, 0.0, 0.0)
            down = newest._replace(results=(row._replace(queue_seconds=(row.queue_seconds[0], math.inf, 0.0)),))
            return review(down, label, stored_world(run.configuration))

    (report,) = asyncio.run(look())
    waits = {each["device"]: (each["wait"] is None, each["response"] is None) for each in report["considered"]}
    assert waits == {"cpu_0": (False, False), "gpu_0": (True, True), "gpu_1": (False, False)}
    assert report["regret"] >= 0


def test_without_a_described_node_there_is_nothing_to_consider() -> None:
    from hybrid_scheduler.config.world import stored_world

    assert stored_world({}) is None
    assert stored_world({"cluster": {"devices": [{"name": "x", "kind": "abacus"}]}}) is None
    cluster = {"devices": [{"name": "cpu_0", "kind": "cpu", "memory_mb": None}]}
    assert stored_world({"cluster": cluster}) is not None
    assert stored_world({"cluster": cluster, "node": "simulated"}) is not None
    assert stored_world({"cluster": cluster, "node": "machine"}) is None  # of the live race
    assert stored_world({"cluster": cluster, "node": {"node": "ray", "lanes": []}}) is None  # of hms run
