"""The API on each store, without and with Redis."""

from __future__ import annotations

from typing import Any

import pytest
from raced_history import RACERS, make_tasks, store_race
from running_service import Service

from hybrid_scheduler.metrics.registry import metric_classes
from hybrid_scheduler.schedulers.registry import scheduler_names
from hybrid_scheduler.store import RunRow

TASK = {"size": 960.0, "compute_intensity": 0.75, "memory_required": 81.0}


def _raced(service: Service, count: int) -> RunRow:
    async def work() -> RunRow:
        return await store_race(service.store_access.store, make_tasks(count))

    return service.run(work)


def _get(service: Service, path: str, **parameters: Any) -> Any:
    answer = service.client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_programs_hear_that_it_is_online(deployed: Service) -> None:
    expected = {"status": "online", "message": "Hybrid ML Scheduler Dashboard API is running"}
    assert _get(deployed, "/") == expected


def test_control_says_the_state_and_twice_changes_nothing(deployed: Service) -> None:
    for path, state in (
        ("/api/simulation/pause", "paused"),
        ("/api/pause", "paused"),
        ("/api/simulation/resume", "running"),
        ("/api/resume", "running"),
        ("/api/simulation/stop", "stopped"),
        ("/api/simulation/stop", "stopped"),
        ("/api/simulation/start", "running"),
        ("/api/simulation/start", "running"),
    ):
        answer = deployed.client.post(path)
        assert (answer.status_code, answer.json()["state"]) == (200, state)
        for status in ("/api/status", "/api/simulation/status"):
            assert _get(deployed, status)["state"] == state


def test_status_tells_of_feed_and_token(deployed: Service) -> None:
    status = _get(deployed, "/api/status")
    assert status["feed"] == {"clients": 0, "frames": 0, "dropped": 0}
    assert status["token_required"] is False
    assert status["tasks_processed"] == 7


def test_the_pulse_of_a_scheduler_in_the_race(deployed: Service) -> None:
    pulse = _get(deployed, "/api/simulation/pulse", scheduler="greedy")
    assert pulse["devices"] == ["cpu_0", "gpu_0"]
    assert pulse["points"] == [{"time": 10.0, "utilization": [0.5, 0.25]}]
    assert deployed.client.get("/api/simulation/pulse", params={"scheduler": "nobody"}).status_code == 404
    assert deployed.client.get("/api/simulation/pulse").status_code == 422


def test_the_waiting_room_of_a_scheduler_in_the_race(deployed: Service) -> None:
    room = _get(deployed, "/api/simulation/waiting", scheduler="greedy")
    assert (room["waiting"], room["simulated_time"], len(room["tasks"])) == (3, 12.5, 3)
    assert room["tasks"][0]["overtaken"] == 3
    assert [task["expected_start"] for task in room["tasks"]] == [14.0, None, None]
    assert deployed.engine.commands[-1] == ("waiting", {"scheduler": "greedy", "limit": 50, "task_id": None})
    two = _get(deployed, "/api/simulation/waiting", scheduler="greedy", limit=2)
    assert [task["task_id"] for task in two["tasks"]] == [4, 7]
    one = _get(deployed, "/api/simulation/waiting", scheduler="greedy", task_id=9)
    assert ([task["task_id"] for task in one["tasks"]], one["waiting"]) == ([9], 3)
    for wrong in ({"scheduler": "greedy", "limit": 0}, {"scheduler": "greedy", "task_id": -1}, {}):
        assert deployed.client.get("/api/simulation/waiting", params=wrong).status_code == 422
    assert deployed.client.get("/api/simulation/waiting", params={"scheduler": "nobody"}).status_code == 404


def test_settings_change_what_is_named(deployed: Service) -> None:
    answer = deployed.client.patch("/api/simulation/settings", json={"speed": 4.0, "preset": "bursty"})
    assert answer.status_code == 200
    assert (answer.json()["speed"], answer.json()["preset"], answer.json()["energy_weight"]) == (4.0, "bursty", 0.5)
    assert deployed.engine.commands[-1] == ("settings", {"speed": 4.0, "preset": "bursty"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"preset": "mixd"}, "did you mean 'mixed'"),
        ({"speed": 0}, "speed: it must be greater than"),
        ({"speeed": 1}, "speeed"),
        ({"load": 0.1, "arrival_rate": 1}, "give one"),
        ({"preset": "mixed", "trace": "a.csv"}, "give one"),
        ({"schedulers": []}, "schedulers"),
        ({"schedulers": ["greedy", "greedy"]}, "twice"),
    ],
)
def test_bad_settings_say_why(service: Service, change: dict[str, Any], words: str) -> None:
    answer = service.client.patch("/api/simulation/settings", json=change)
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]


def test_an_own_task_is_stored_before_it_is_answered(deployed: Service) -> None:
    answer = deployed.client.post("/api/tasks", json=TASK)
    assert answer.status_code == 201
    task = answer.json()["task"]
    assert {key: task[key] for key in TASK} == TASK
    assert [each["scheduler_name"] for each in answer.json()["decisions"]] == ["greedy", "oracle"]
    stored = deployed.run(deployed.store_access.store.submitted)
    assert [each.task_id for each in stored] == [task["task_id"]]
    early = deployed.client.get(f"/api/tasks/{task['task_id']}")
    assert (early.status_code, early.json()["error"]["code"]) == (409, "not_finished")


def test_history_is_paged_newest_first_without_gap_or_repetition(deployed: Service) -> None:
    run = _raced(deployed, 25)
    pages, cursor = [], None
    while True:
        query = {"limit": 10} if cursor is None else {"limit": 10, "before": cursor}
        page = _get(deployed, "/api/history/comparative", **query)
        pages.append(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    numbers = [item["task_id"] for page in pages for item in page]
    assert numbers == list(range(run.first_task_id + 24, run.first_task_id - 1, -1))
    assert all(set(item["results"]) == set(RACERS) for page in pages for item in page)


def test_history_of_one_scheduler_and_one_run(deployed: Service) -> None:
    first, second = _raced(deployed, 12), _raced(deployed, 5)
    only = _get(deployed, "/api/history/comparative", scheduler="greedy", limit=3)["items"]
    assert [list(item["results"]) for item in only] == [["greedy"]] * 3
    for run, count in ((first, 12), (second, 5)):
        items = _get(deployed, "/api/history/comparative", run_id=run.id)["items"]
        assert [item["run_id"] for item in items] == [run.id] * count
    page = _get(deployed, "/api/history/comparative", run_id=first.id, limit=5, before=first.first_task_id + 3)
    assert [item["task_id"] - first.first_task_id for item in page["items"]] == [2, 1, 0]
    assert deployed.client.get("/api/history/comparative", params={"run_id": 999}).status_code == 404


def test_full_history_is_an_array_of_labelled_tasks(deployed: Service) -> None:
    assert _get(deployed, "/api/full_history") == []
    _raced(deployed, 8)
    deployed.run(deployed.app.state.services.cache.clear)
    records = _get(deployed, "/api/full_history")
    assert len(records) == 8
    assert records[0]["task_id"] > records[-1]["task_id"]
    assert set(records[0]["times"]) == {"cpu_0", "gpu_0", "gpu_1"}
    assert records[0]["optimal_time"] <= min(records[0]["times"].values())


def test_a_finished_task_in_detail_the_same_twice(deployed: Service) -> None:
    run = _raced(deployed, 10)
    number = run.first_task_id + 6
    detail = _get(deployed, f"/api/tasks/{number}")
    assert detail["task_id"] == number
    assert [each["scheduler_name"] for each in detail["decisions"]] == list(RACERS)
    assert detail["decisions"][-1]["regret"] == pytest.approx(0, abs=1e-9)
    assert detail["decisions"][0]["projected"]["response_time"] == detail["results"]["cpu_only"]["response_time"]
    assert _get(deployed, f"/api/tasks/{number}") == detail


def test_runs_and_models(deployed: Service) -> None:
    run = _raced(deployed, 3)

    async def save() -> None:
        for rows in (100, 200, 300):
            await deployed.store_access.store.add_model_version(
                "rl_agent", rows=rows, path="models/live/rl.pth", r2=0.9
            )
        await deployed.store_access.store.add_model_version("hybrid_ml", rows=7, path="models/live/f.pkl")

    deployed.run(save)
    assert [each["kind"] for each in _get(deployed, "/api/runs")["items"]] == ["compare", "live"]
    assert [each["id"] for each in _get(deployed, "/api/runs", kind="compare")["items"]] == [run.id]
    assert _get(deployed, f"/api/runs/{run.id}")["schedulers"] == list(RACERS)
    page = _get(deployed, "/api/runs", limit=1)
    assert _get(deployed, "/api/runs", limit=1, before=page["next_cursor"])["items"][0]["kind"] == "live"
    versions = _get(deployed, "/api/models", scheduler="rl_agent", limit=2)
    assert [each["rows"] for each in versions["items"]] == [300, 200]
    older = _get(deployed, "/api/models", scheduler="rl_agent", limit=2, before=versions["next_cursor"])
    assert [each["rows"] for each in older["items"]] == [100]
    assert _get(deployed, "/api/models")["items"][0]["r2"] is None


def test_clearing_says_how_much_is_gone(deployed: Service) -> None:
    run = _raced(deployed, 4)
    _get(deployed, f"/api/tasks/{run.first_task_id}")
    answer = deployed.client.delete("/api/history")
    assert answer.json() == {"tasks": 4, "results": 4 * len(RACERS), "training": 4, "runs": 1, "done": True}
    assert _get(deployed, "/api/history/comparative") == {"items": [], "next_cursor": None}
    assert deployed.client.get(f"/api/tasks/{run.first_task_id}").status_code == 404  # not from the cache either


def test_clearing_that_takes_long_goes_on_after_the_answer(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    so_far = {"tasks": 4, "results": 4 * len(RACERS), "training": 4, "runs": 0, "done": False}

    async def slowly() -> dict[str, Any]:
        return so_far

    monkeypatch.setattr(service.engine, "_clear", slowly)
    answer = service.client.delete("/api/history")
    assert (answer.status_code, answer.json()) == (202, so_far)


@pytest.mark.parametrize("path", ["/api/tasks/5", "/api/runs/77", f"/api/tasks/{2**53 - 1}", f"/api/runs/{2**53 - 1}"])
def test_what_is_not_there_is_404(deployed: Service, path: str) -> None:
    answer = deployed.client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_figures_are_described(service: Service) -> None:
    found = {each["name"]: each for each in _get(service, "/api/metrics/catalogue")}
    assert set(metric_classes()) <= set(found)
    assert {"speedup", "times_oracle", "gpu_share", "decision_us"} <= set(found)
    assert found["avg_response"] == {
        "name": "avg_response",
        "title": "mean response time",
        "short": "response",
        "unit": "s",
        "symbol": "s",
        "bigger_is_better": False,
        "description": "Mean response time, from arrival to finish.",
    }
    assert (found["throughput"]["bigger_is_better"], found["tasks"]["bigger_is_better"]) == (True, None)
    assert (found["overloaded"]["unit"], found["overloaded"]["symbol"]) == ("yes/no", "")


def test_schedulers_and_presets_come_from_their_registries(service: Service) -> None:
    found = {each["name"]: each for each in _get(service, "/api/schedulers")}
    assert sorted(found) == scheduler_names()
    assert found["greedy"]["in_race"]
    assert not found["mct"]["in_race"]
    assert found["oracle"]["knows_truth"]
    assert [name for name in ("sjf", "fcfs", "mct", "rl_agent") if found[name]["lets_wait"]] == ["sjf", "fcfs"]
    assert found["rl_agent"]["is_learner"]
    assert found["rl_agent"]["parameters"]["gamma"] == 0.97
    assert {"weights", "energy_weight"} <= set(found["rl_agent"]["parameters"])
    assert len({each["colour"] for each in found.values()}) == len(found)
    assert {"mixed", "kernels", "cholesky"} <= {each["name"] for each in _get(service, "/api/presets")}


def test_a_scheduler_that_cannot_be_made_here_says_why(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from hybrid_scheduler.model.errors import MissingExtraError
    from hybrid_scheduler.server.routes import schedulers

    def refuse(name: str) -> None:
        raise MissingExtraError(name, "PyTorch", "learning")

    monkeypatch.setattr(schedulers, "create_scheduler", refuse)
    schedulers._facts.cache_clear()
    try:
        found = _get(service, "/api/schedulers")[0]
    finally:
        schedulers._facts.cache_clear()
    assert not found["available"]
    assert "PyTorch" in found["reason"]
    assert found["summary"]
