"""`hms report N` of a race that was kept: its figures are those of the race."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_answer import Hms

from hybrid_scheduler.cli import stored_run
from hybrid_scheduler.store import open_store

RACE = ("compare", "--schedulers", "cpu_only,mct,oracle", "--load", 0.5, "--tasks", 90, "--seed", 5)
METRICS = ("tasks", "makespan", "total_time", "avg_response", "p99_response", "energy", "cost", "load_balance")


@pytest.fixture(autouse=True)
def no_other_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "POSTGRES_HOST"):
        monkeypatch.delenv(name, raising=False)


def document(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "result.json").read_text())
    return found


def test_a_kept_comparison_has_a_report(hms: Hms) -> None:
    race = hms(*RACE, "--dependency-prob", 0.4, "--store", "--json", "-").document["schedulers"]
    answer = hms("report", 1)
    assert answer.code == 0, answer.err
    folder = "data/results/run-1"
    found = document(folder)["schedulers"]
    assert list(found) == list(race)
    for name, figures in race.items():
        for metric in METRICS:
            assert found[name][metric]["mean"] == pytest.approx(figures[metric], rel=1e-9), (name, metric)
        assert bool(found[name]["overloaded"]["mean"]) == figures["overloaded"]
    assert Path(folder, "report.pdf").read_bytes().startswith(b"%PDF")
    page = Path(folder, "report.html").read_text()
    assert "Run 1: a comparison" in page
    assert "Who waits for whom" in page
    assert "Comparisons" not in page
    assert "95 %" not in page
    assert {"dependency_graph.png", "latency_cdf.png", "workload.png"} <= {path.name for path in Path(folder).iterdir()}
    assert hms("report", folder, "--out", "again").code == 0


def test_rows_of_an_older_version_or_of_a_real_machine_say_less(hms: Hms) -> None:
    assert hms(*RACE, "--store").code == 0
    with closing(sqlite3.connect("data/hybrid_scheduler.db")) as connection:
        columns = ("ready_time", "queue_seconds", "decided_time", "overtaken")
        kept = ", ".join(f"count({name})" for name in columns)
        assert connection.execute(f"SELECT {kept} FROM scheduler_results").fetchone() == (270,) * 4
        connection.execute("UPDATE tasks SET duration_estimate = NULL, kind = NULL")
        connection.execute(f"UPDATE scheduler_results SET {', '.join(f'{name} = NULL' for name in columns)}")
        connection.execute("UPDATE scheduler_results SET energy_consumption = NULL WHERE scheduler_name = 'mct'")
        connection.commit()
    assert hms("report", 1, "--out", "old").code == 0
    found = document("old")["schedulers"]
    assert "overloaded" not in found["mct"]
    assert ("energy" in found["mct"], "cost" in found["mct"], "energy" in found["cpu_only"]) == (False, True, True)
    assert "Whether anybody was overloaded is not known" in Path("old", "report.html").read_text()


def test_of_a_long_race_the_end(hms: Hms) -> None:
    assert hms(*RACE, "--store").code == 0
    assert hms(*RACE, "--store").code == 0  # tasks of another run must not get in
    for number, out in enumerate(("first", "second"), 1):
        stored_run.open_stored(number, Path(out), most_tasks=25, page=10)
    first, second = document("first"), document("second")
    assert first["configuration"]["tasks"] == 25
    assert "the last 25 of its 90 tasks" in first["question"]
    assert first["schedulers"] == second["schedulers"]


def test_what_cannot_be_reported(hms: Hms) -> None:
    async def begin() -> None:
        async with await open_store("sqlite:///data/hybrid_scheduler.db") as store:
            await store.begin_run("live", seed=1, configuration={}, schedulers=["mct"], reserve=10)

    asyncio.run(begin())
    for number, says in ((1, "run 1 has no finished task"), (2, "there is no stored run 2")):
        answer = hms("report", number)
        assert (answer.code, answer.out) == (2, "")
        assert says in answer.err
