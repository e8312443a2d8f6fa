"""History over time and across runs: what the API says equals plain SQL on the store."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from databases import run_sql
from raced_history import RACERS, make_tasks, store_race
from running_service import Service

from hybrid_scheduler.store import LearningRow, RetrainingRow, RunRow, Store
from hybrid_scheduler.testing.store.samples import SCHEDULERS, begin, sample

T = TypeVar("T")
MEANS = """
    SELECT (t.stored / {seconds}) * {seconds}, r.scheduler_name, count(*),
        avg(CASE WHEN r.failed THEN NULL ELSE r.response_time END),
        avg(CASE WHEN r.failed THEN NULL ELSE r.energy_consumption END),
        avg(CASE WHEN r.failed THEN NULL ELSE r.execution_cost END),
        avg(CASE WHEN NOT r.failed AND r.response_time <= (
            SELECT min(o.response_time) FROM scheduler_results o WHERE o.task_id = r.task_id AND NOT o.failed
        ) THEN 1.0 ELSE 0.0 END)
    FROM scheduler_results r JOIN tasks t ON t.task_id = r.task_id GROUP BY 1, 2 ORDER BY 1, 2
"""


def with_store(service: Service, work: Callable[[Store], Awaitable[T]]) -> T:
    return service.run(lambda: work(service.store_access.store))


def asked(service: Service, query: str) -> list[tuple[Any, ...]]:
    """The answer of the database itself."""
    address = service.settings.database
    if address.startswith("postgresql"):
        return [tuple(row) for row in run_sql(address, query)]
    with closing(sqlite3.connect(address.split("///")[1])) as connection:
        return connection.execute(query).fetchall()


def get(service: Service, path: str, **parameters: Any) -> Any:
    answer = service.client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def live_history(service: Service) -> list[RunRow]:
    """Two live runs over some days."""

    async def work(store: Store) -> list[RunRow]:
        runs, now = [], datetime.now(UTC)
        for days in (9, 0):
            run = await begin(store)
            runs.append(run)
            for step, hours in enumerate((30, 2, 0)):
                store._clock = lambda moment=now - timedelta(days=days, hours=hours): moment
                await store.write(sample(run, range(5 * step, 5 * step + 5)))
        store._clock = None
        return runs

    return with_store(service, work)


@pytest.mark.parametrize("days", [None, 30, 2000])
def test_means_over_time_equal_sql_on_the_store(deployed: Service, days: int | None) -> None:
    live_history(deployed)
    since = {} if days is None else {"since": int(datetime.now(UTC).timestamp()) - 86_400 * days}
    answer = get(deployed, "/api/history/means", **since)
    seconds = answer["stretch_seconds"]
    expected = asked(deployed, MEANS.format(seconds=seconds))
    assert len(answer["items"]) == len(expected) >= 2
    for point, (start, name, tasks, *figures) in zip(answer["items"], expected, strict=True):
        assert datetime.fromisoformat(point["start"]).timestamp() == start
        assert (point["scheduler_name"], point["tasks"]) == (name, tasks)
        shown = [point[figure] for figure in ("avg_response", "avg_energy", "avg_cost", "win_share")]
        assert shown == pytest.approx([None if each is None else float(each) for each in figures], rel=1e-12)
    rows = list(csv.DictReader(io.StringIO(deployed.client.get("/api/history/means.csv", params=since).text)))
    assert [float(row["avg_response"]) for row in rows] == [point["avg_response"] for point in answer["items"]]
    only = get(deployed, "/api/history/means", scheduler=SCHEDULERS[1], **since)["items"]
    assert {point["scheduler_name"] for point in only} == {SCHEDULERS[1]}


def test_energy_that_no_machine_told_is_null(deployed: Service) -> None:
    async def work(store: Store) -> RunRow:
        run = await begin(store)
        batch = sample(run, range(4))
        results = [
            row._replace(energy_consumption=None) for row in batch.results if row.scheduler_name == SCHEDULERS[0]
        ]
        others = [row for row in batch.results if row.scheduler_name != SCHEDULERS[0]]
        await store.write(batch._replace(results=[*results, *others]))
        return run

    run = with_store(deployed, work)
    hours = get(deployed, "/api/history/means")["items"]
    for shown in (hours, get(deployed, f"/api/runs/{run.id}/figures")):
        by_name = {each["scheduler_name"]: each for each in shown}
        known = {name: figures["avg_energy"] is not None for name, figures in by_name.items()}
        assert known == {SCHEDULERS[0]: False, SCHEDULERS[1]: True}
        assert by_name[SCHEDULERS[0]]["avg_cost"] > 0.0
    for item in get(deployed, "/api/history/comparative")["items"]:
        assert item["results"][SCHEDULERS[0]]["energy_consumption"] is None
    task = get(deployed, f"/api/tasks/{run.first_task_id}")
    assert task["results"][SCHEDULERS[0]]["energy_consumption"] is None


def test_the_last_hour_is_shown_by_the_minute(service: Service) -> None:
    live_history(service)
    answer = get(service, "/api/history/means", since=int(datetime.now(UTC).timestamp()) - 3600)
    assert answer["stretch_seconds"] == 60
    assert [point["tasks"] for point in answer["items"]] == [5, 5]


def test_an_empty_store_has_an_empty_history(service: Service) -> None:
    assert get(service, "/api/history/means")["items"] == []
    assert get(service, "/api/history/learning") == []
    assert get(service, "/api/history/retrainings") == {"items": [], "next_cursor": None}
    assert get(service, "/api/history/collected")["tasks"] == 0
    assert get(service, "/api/history/means", since=500, until=400)["items"] == []


def test_retrainings_and_learning_curves(deployed: Service) -> None:
    now = datetime.now(UTC)

    async def work(store: Store) -> None:
        rows = [RetrainingRow(0, 3, "hybrid_ml", now, n, "drift", 812, 8, 5, 0.1, 0.09, None) for n in range(7)]
        figures = [LearningRow(0, run, "rl_agent", now, n, {"loss": 1.0 / (n + 1)}) for run in (3, 4) for n in range(9)]
        await store.note_learning(rows, figures)
        await store.add_model_version("hybrid_ml", rows=1, path="x")

    with_store(deployed, work)
    page = get(deployed, "/api/history/retrainings", limit=4)
    rest = get(deployed, "/api/history/retrainings", limit=4, before=page["next_cursor"])
    assert [each["tasks"] for each in page["items"] + rest["items"]] == [6, 5, 4, 3, 2, 1, 0]
    assert rest["next_cursor"] is None
    assert page["items"][0]["error_after"] == 0.09
    (curve,) = get(deployed, "/api/history/learning", run_id=4)
    assert [point["tasks"] for point in curve["points"]] == list(range(9))
    assert curve["points"][1]["figures"] == {"loss": 0.5}
    (both,) = get(deployed, "/api/history/learning", scheduler="rl_agent", points=4)
    assert 4 <= len(both["points"]) <= 6
    assert {point["run_id"] for point in both["points"]} == {3, 4}
    marks = get(deployed, "/api/history/means", since=int(now.timestamp()) - 60)["marks"]
    assert sum(mark["retrainings"] for mark in marks) == 7
    assert sum(mark["versions"] for mark in marks) == 1


def test_figures_of_a_run_equal_sql_on_the_store(deployed: Service) -> None:
    first = deployed.run(lambda: store_race(deployed.store_access.store, make_tasks(30)))
    figures = get(deployed, f"/api/runs/{first.id}/figures")
    assert sorted(each["scheduler_name"] for each in figures) == sorted(RACERS)
    expected = asked(
        deployed,
        "SELECT scheduler_name, avg(response_time), avg(energy_consumption) FROM scheduler_results GROUP BY 1",
    )
    by_name = {each["scheduler_name"]: each for each in figures}
    for name, response, energy in expected:
        assert by_name[name]["avg_response"] == pytest.approx(response, rel=1e-12)
        assert by_name[name]["avg_energy"] == pytest.approx(energy, rel=1e-12)
        assert by_name[name]["tasks"] == 30
    assert deployed.client.get("/api/runs/999/figures").status_code == 404


def test_figures_of_a_run_without_sums_come_from_its_summary(service: Service) -> None:
    async def work(store: Store) -> int:
        run = await begin(store)
        told = {"greedy": {"tasks": 3, "avg_response": 0.5, "gap": 0.25, "state": "racing", "overloaded": True}}
        await store.end_run(run.id, "finished", {"schedulers": told})
        return run.id

    (figures,) = get(service, f"/api/runs/{with_store(service, work)}/figures")
    assert (figures["tasks"], figures["avg_response"], figures["gap"], figures["avg_cost"]) == (3, 0.5, 0.25, None)


def test_collected_data(service: Service) -> None:
    live_history(service)
    collected = get(service, "/api/history/collected")
    assert (collected["runs"], collected["tasks"], collected["tasks_ever"]) == (3, 30, 30)
    assert (collected["results"], collected["labels"]) == (60, 30)
    first, last = (datetime.fromisoformat(collected[name]) for name in ("first", "last"))
    assert timedelta(days=10) <= last - first < timedelta(days=12)
