"""A running race under people's hands: control, settings, their own tasks. One server per database serves them all."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from databases import run_sql
from live_service import LIGHT, PATIENCE, LiveService, until
from websockets.asyncio.client import connect

TRACE = "size,compute_intensity,memory_required,arrival_time\n500,0.5,20,0\n700,0.2,30,1\n900,0.9,40,3\n"
USUAL = {"load": 0.05, "speed": 1.0, "flat_out": False, "preset": "mixed", "schedulers": list(LIGHT)}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    folder = tmp_path_factory.mktemp("live")
    url = f"sqlite+aiosqlite:///{folder}/live.db"
    if request.param == "postgresql":
        where = request.getfixturevalue("postgres_folder")
        run_sql(f"postgresql+asyncpg://postgres@/postgres?host={where}", "CREATE DATABASE live_control")
        url = f"postgresql+asyncpg://postgres@/live_control?host={where}"
    service = LiveService(folder, url, "--schedulers", ",".join(LIGHT), "--load", "0.05", UPDATE_HZ="20")
    traces = folder / "data" / "workload_traces"
    traces.mkdir(parents=True)
    (traces / "small.csv").write_text(TRACE)
    (traces / "bad.csv").write_text("size\nmany\n")
    (folder / "outside.csv").write_text(TRACE)
    try:
        yield service.start()
        assert service.end() < 20
    finally:
        service.close()


@pytest.fixture
def racing(server: LiveService) -> LiveService:
    """The server, racing as usual whatever the last test did."""
    server.control("start")
    server.change(**USUAL)
    server.wait_for("running")
    return server


def refused(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == code, error
    message: str = error["message"]
    return message


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def updates(service: LiveService, seconds: float, most: int = 1_000_000) -> list[dict[str, Any]]:
    """The live updates of a while, `most` of them, less the one every new client gets."""
    found: list[dict[str, Any]] = []
    async with connect(f"{str(service.client.base_url).replace('http', 'ws')}/ws") as socket:
        try:
            async with asyncio.timeout(seconds):
                while len(found) <= most:
                    message = json.loads(await socket.recv())
                    if message["type"] == "simulation_update":
                        found.append(message)
        except TimeoutError:
            pass
    return found[1:]


def test_the_pulse_of_the_run_is_answered_while_it_races(racing: LiveService) -> None:
    def pulse(scheduler: str) -> httpx.Response:
        return racing.client.get("/api/simulation/pulse", params={"scheduler": scheduler})

    points = until(lambda: len(found := pulse("greedy").json()["points"]) > 3 and found, "four points")
    assert all(0.0 <= share <= 1.0 for point in points for share in point["utilization"])
    assert "round_robin" in refused(pulse("rl_agent"), 404, "not_racing")


def test_the_race_runs_and_is_stored(racing: LiveService) -> None:
    racing.change(speed=20.0)
    before = racing.status()
    assert before["owner"]
    assert [racer["name"] for racer in before["schedulers"]] == list(LIGHT)
    racing.wait_for_tasks(before["store"]["stored_tasks"] + 20)
    page = racing.client.get("/api/history/comparative", params={"limit": 5}).json()["items"]
    assert len(page) == 5
    assert set(page[0]["results"]) == set(LIGHT)
    racing.check_whole()
    found = asyncio.run(updates(racing, PATIENCE, 6))
    assert len(found) == 6
    assert [each["seq"] for each in found] == sorted({each["seq"] for each in found})
    assert found[-1]["simulated_time"] > found[0]["simulated_time"]
    assert {entry["name"] for entry in found[-1]["comparison"]} == set(LIGHT)


def test_pause_halts_everything_and_resume_goes_on_from_there(racing: LiveService) -> None:
    racing.change(speed=50.0)
    for _ in range(2):
        answer = racing.control("pause")
        assert (answer["state"], answer["is_paused"], answer["is_running"]) == ("paused", True, False)
    halted, engine = racing.status(), racing.engine_id
    assert halted["state"] == "paused", "who has the answer sees no older status"
    assert engine is not None
    used, began = cpu_seconds(engine), time.monotonic()
    assert asyncio.run(updates(racing, 1.5)) == []
    assert (cpu_seconds(engine) - used) / (time.monotonic() - began) < 0.2, "it is busy with nothing"
    later = racing.status()
    assert later["simulated_time"] == halted["simulated_time"]
    assert later["tasks_processed"] == halted["tasks_processed"]
    assert later["rates"]["tasks_per_second"] == 0.0
    resumed = time.monotonic()
    for _ in range(2):
        assert racing.control("resume")["state"] == "running"
    until(lambda: racing.status()["tasks_processed"] > halted["tasks_processed"], "tasks after the pause")
    # What was slept through at fifty times the speed is not made up for.
    went_on = racing.status()["simulated_time"] - halted["simulated_time"]
    assert went_on < 50.0 * (time.monotonic() - resumed + 0.5)


def test_stop_ends_the_run_and_start_begins_another(racing: LiveService) -> None:
    racing.change(speed=50.0)
    for _ in range(2):
        run = until(lambda: racing.status()["run"], "a run")["id"]
        racing.wait_for_tasks(3)
        for _ in range(2):
            assert racing.control("stop")["state"] == "stopped"
        assert racing.control("pause")["state"] == "stopped"
        assert racing.control("resume")["state"] == "stopped"
        assert {each["id"]: each for each in racing.client.get("/api/runs").json()["items"]}[run][
            "status"
        ] == "finished"
        stored = sum(owner == run for owner in racing.stored().values())
        assert racing.rows(f"SELECT tasks FROM runs WHERE id = {run}") == [(stored,)]
        assert racing.status()["run"] is None
        assert "start it first" in refused(racing.submit(), 409, "not_running")
        for _ in range(2):
            assert racing.control("start")["is_running"]
        racing.wait_for("running")
        assert racing.status()["run"]["id"] > run
    racing.check_whole()


def test_settings_take_effect_while_it_runs(racing: LiveService) -> None:
    run = racing.status()["run"]["id"]
    assert racing.change(arrival_rate=40.0)["arrival_rate"] == 40.0
    assert racing.change(load=0.1)["load"] == pytest.approx(0.1)
    assert racing.change(speed=200.0)["speed"] == 200.0
    began = racing.status()["simulated_time"]
    until(lambda: racing.status()["simulated_time"] > began + 200.0, "faster time", 20.0)
    assert racing.change(flat_out=True)["flat_out"]
    racing.wait_for_tasks(1500)
    assert not racing.change(speed=1.0)["flat_out"]
    assert racing.change(preset="gpu_favourable")["load"] == pytest.approx(0.1)
    found = racing.change(trace="small.csv", arrival_rate=5.0, speed=20.0)
    assert (found["trace"], found["preset"]) == ("small.csv", None)
    now = until(lambda: (s := racing.status())["settings"]["trace"] and s["simulated_time"], "the trace")
    late = f"SELECT size FROM tasks WHERE run_id = {run} AND arrival_time > {now}"
    sizes = until(lambda: {size for (size,) in racing.rows(late)}, "tasks of the trace")
    assert sizes <= {500.0, 700.0, 900.0}
    assert racing.change(preset="mixed", energy_weight=0.9)["energy_weight"] == 0.9
    weights = {"time": 3, "energy": 0, "money": 1}
    assert racing.change(weights=weights)["weights"] == {"time": 0.75, "energy": 0.0, "money": 0.25}
    racing.wait_for_tasks(racing.status()["tasks_processed"] + 50)
    status = racing.status()
    assert (status["run"]["id"], status["settings"]["preset"]) == (run, "mixed")


def test_other_schedulers_begin_a_new_run(racing: LiveService) -> None:
    run = racing.status()["run"]["id"]
    assert racing.change(schedulers=["greedy", "mct"], speed=50.0)["schedulers"] == ["greedy", "mct"]
    until(lambda: (racing.status()["run"] or {"id": 0})["id"] > run, "another run")
    racing.wait_for_tasks(3)
    assert [racer["name"] for racer in racing.status()["schedulers"]] == ["greedy", "mct"]
    racing.control("stop")
    (latest,) = racing.rows(f"SELECT COUNT(*) FROM tasks WHERE run_id > {run}")
    (results,) = racing.rows(f"SELECT COUNT(*) FROM scheduler_results JOIN tasks USING (task_id) WHERE run_id > {run}")
    assert results[0] == 2 * latest[0] > 0
    racing.client.delete("/api/history").raise_for_status()  # other tests count results of the usual schedulers


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"speed": 0.0}, 422, "speed"),
        ({"load": -1.0}, 422, "load"),
        ({"arrival_rate": 3.0, "load": 0.1}, 422, "arrival_rate and load"),
        ({"preset": "mixd"}, 422, "mixed"),
        ({"speed": 3.0, "schedulers": ["greedy", "greddy"]}, 422, "greedy"),
        ({"schedulers": ["greedy", "greedy"]}, 422, "twice"),
        ({"speed": 3.0, "trace": "none.csv"}, 404, "small.csv"),
        ({"trace": "../../outside.csv"}, 422, "trace folder"),
        ({"trace": "/etc/passwd"}, 422, "trace folder"),
        ({"trace": "bad.csv", "speed": 3.0}, 422, "bad.csv"),
        ({"energy_weight": 1.5}, 422, "energy_weight"),
        ({"energy_weight": 0.5, "weights": {"money": 1}}, 422, "give one"),
        ({"weights": {"time": 0}}, 422, "at least one must be above 0"),
        ({"weights": {"time": -1}}, 422, "weights"),
        ({"weights": {"cost": 1}}, 422, "cost"),
        ({"pace": 1}, 422, "pace"),
    ],
)
def test_wrong_settings_change_nothing(racing: LiveService, change: dict[str, Any], status: int, words: str) -> None:
    before = racing.status()
    answer = racing.client.patch("/api/simulation/settings", json=change)
    assert answer.status_code == status
    assert words in answer.text
    after = racing.status()
    assert (after["settings"], after["run"]) == (before["settings"], before["run"])


def test_a_task_of_ones_own_is_stored_at_once_and_raced(racing: LiveService) -> None:
    racing.change(speed=5.0)
    first = racing.submit(size=3000.0)
    assert first.status_code == 201
    task = first.json()["task"]["task_id"]
    decisions = {each["scheduler_name"]: each for each in first.json()["decisions"]}
    assert set(decisions) == set(LIGHT)
    assert decisions["oracle"]["regret"] == pytest.approx(0.0, abs=1e-9)
    assert all(each["reason"] and each["considered"] for each in decisions.values())
    second = racing.submit(dependencies=[task])
    child = second.json()["task"]["task_id"]
    assert child > task
    finish = {}
    for number in (task, child):
        answer = until(
            lambda number=number: (a := racing.client.get(f"/api/tasks/{number}")).status_code == 200 and a,  # type: ignore[misc]
            "history",
        )
        finish[number] = answer.json()["results"]
        assert set(finish[number]) == set(LIGHT)
    for name in LIGHT:
        projected = decisions[name]["projected"]
        assert finish[task][name]["finish_time"] == pytest.approx(projected["finish_time"])
        starts = [part["start"] for part in finish[child][name]["parts"]]
        assert min(starts) >= finish[task][name]["finish_time"] - 1e-9
    assert racing.rows(f"SELECT COUNT(*) FROM submitted_tasks WHERE task_id IN ({task}, {child})") == [(0,)]


def test_a_task_that_cannot_be_is_refused(racing: LiveService) -> None:
    assert "10000000" in refused(racing.submit(dependencies=[10_000_000]), 409, "unknown_dependency")
    assert racing.submit(size=-1.0).status_code == 422
    racing.control("pause")
    accepted = racing.submit()
    assert accepted.status_code == 201
    task = accepted.json()["task"]["task_id"]
    assert task not in racing.stored()
    racing.control("stop")
    assert task in racing.stored(), "it was accepted, so the run ends with it"


def test_clear_forgets_what_is_stored_and_ids_go_on(racing: LiveService) -> None:
    racing.change(flat_out=True)
    racing.wait_for_tasks(200)
    racing.change(speed=1.0)
    highest = max(racing.stored())
    cleared = racing.client.delete("/api/history")
    assert cleared.status_code == 200, cleared.text
    assert cleared.json()["tasks"] >= 200
    assert cleared.json()["results"] == len(LIGHT) * cleared.json()["tasks"]
    status = racing.status()
    assert status["tasks_processed"] < 100
    racing.change(speed=50.0)
    until(lambda: len(racing.stored()) > 5, "tasks after it")
    assert min(racing.stored()) > highest
    racing.check_whole()
