"""A service whose race is real work: its answers, its workers, and what is left of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_service import TASK, LiveService, children_of, is_alive, until

from hybrid_scheduler.hardware.machine import usable_cores

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes by /proc"),
    pytest.mark.skipif(usable_cores() < 2, reason="two lanes need two cores"),
]
PRESET = "kernels:kinds=sort+axpy,sizes=50-200"
OPTIONS = ("--node", "machine", "--lanes", "2", "--schedulers", "round_robin,sjf", "--preset", PRESET, "--rate", "100")


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    folder = tmp_path_factory.mktemp("machine")
    service = LiveService(folder, f"sqlite+aiosqlite:///{folder}/live.db", *OPTIONS)
    try:
        yield service.start()
    finally:
        service.close()


def workers(service: LiveService) -> list[int]:
    """The processes that the engine has started."""
    engine = service.engine_id
    return [] if engine is None else children_of(engine)


def said(service: LiveService, words: str) -> bool:
    return words in service.log()


def test_real_work_is_raced_stored_and_shown(working: LiveService) -> None:
    working.wait_for_tasks(20)
    status = working.status()
    assert status["settings"]["node"] == "machine"
    assert status["settings"]["devices"] == ["cpu_0", "cpu_1"]
    for racer in status["schedulers"]:
        assert (racer["state"], racer["gap"]) == ("racing", None)
        assert racer["tasks"] >= 20
        assert set(racer["utilization"]) == {"cpu_0", "cpu_1"}
    page: dict[str, Any] = working.client.get("/api/history/comparative?limit=20").json()
    tasks = page["items"]
    assert {task["kind"] for task in tasks} == {"sort", "axpy"}
    for task in tasks:
        for result in task["results"].values():
            (part,) = result["parts"]
            assert part["device"] in ("cpu_0", "cpu_1")
            assert 0.0 < part["end"] - part["start"] < 60.0
            assert part["end"] - part["start"] == pytest.approx(result["actual_time"])
            assert result["energy_consumption"] is None, "nobody can tell which of two lanes took it"
    detail = working.client.get(f"/api/tasks/{tasks[0]['task_id']}").json()
    assert detail["optimal_time"] is None


def test_what_real_work_cannot_do_is_refused(working: LiveService) -> None:
    faster = working.client.patch("/api/simulation/settings", json={"speed": 2.0})
    assert faster.status_code == 422
    assert "real work" in faster.json()["error"]["message"]
    oracle = working.client.patch("/api/simulation/settings", json={"schedulers": ["oracle", "sjf"]})
    assert oracle.status_code == 422
    assert "nobody knows" in oracle.json()["error"]["message"]
    synthetic = working.client.patch("/api/simulation/settings", json={"preset": "mixed"})
    assert synthetic.status_code == 422
    assert "kernels" in synthetic.json()["error"]["message"]
    unknown = working.client.post("/api/tasks", json=TASK)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (409, "no_kernel")
    learned = working.client.post("/api/schedulers/sjf/learn")
    assert (learned.status_code, learned.json()["error"]["code"]) == (409, "no_labels")
    broken = working.client.post("/api/tasks", json={**TASK, "kind": "sort", "size": 10.5})
    assert broken.status_code == 422


def test_a_users_kernel_runs_in_the_next_round(working: LiveService) -> None:
    answer = working.client.post("/api/tasks", json={**TASK, "kind": "sort", "size": 123})
    assert answer.status_code == 201, answer.text
    accepted = answer.json()
    assert all(decision["waiting"] for decision in accepted["decisions"])
    task_id = accepted["task"]["task_id"]
    found = until(
        lambda: (got := working.client.get(f"/api/tasks/{task_id}")).status_code == 200 and got.json(),
        "the user's task in the history",
    )
    assert (found["kind"], found["size"]) == ("sort", 123.0)
    assert found["memory_required"] == pytest.approx(123 * 8000 / 1e6)


def test_paused_it_comes_to_rest_and_goes_on(working: LiveService) -> None:
    working.control("pause")
    until(lambda: working.status()["turn"] is None, "the end of the turn")
    halted = working.status()["simulated_time"]
    assert working.status()["simulated_time"] == halted
    working.control("resume")
    until(lambda: working.status()["simulated_time"] > halted, "the race going on")


def test_a_killed_worker_is_back_and_its_task_is_decided_again(working: LiveService) -> None:
    os.kill(until(lambda: workers(working), "workers")[0], signal.SIGKILL)
    until(lambda: said(working, "was lost and is back"), "the line about the lane")
    before = working.status()["schedulers"][0]["tasks"]
    until(lambda: working.status()["schedulers"][0]["tasks"] > before, "tasks after that")


def test_no_worker_outlives_the_engine(working: LiveService) -> None:
    orphans = until(lambda: len(found := workers(working)) == 2 and found, "two workers")
    working.kill_engine()
    until(lambda: not any(map(is_alive, orphans)), "the end of the workers of a dead engine")
    working.wait_for("running")
    left = until(lambda: len(found := workers(working)) == 2 and found, "two new workers")
    working.end()
    until(lambda: not any(map(is_alive, left)), "the end of the workers")
