"""`hms db` and `hms compare --store`."""

from __future__ import annotations

import asyncio
import csv
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from cli_answer import Hms

from hybrid_scheduler.cli import kept_run
from hybrid_scheduler.store import Store, open_store

FILE = Path("data/hybrid_scheduler.db")
COMPARE = ("compare", "--schedulers", "mct,greedy,oracle", "--json", "-")
Answer = TypeVar("Answer")


@pytest.fixture(autouse=True)
def no_other_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "POSTGRES_HOST"):
        monkeypatch.delenv(name, raising=False)


def ask(question: Callable[[Store], Awaitable[Answer]], url: str = f"sqlite:///{FILE}") -> Answer:
    async def asked() -> Answer:
        async with await open_store(url, create=False) as store:
            return await question(store)

    return asyncio.run(asked())


def test_create_status_clear(hms: Hms) -> None:
    for command in ("status", "upgrade", "clear"):
        answer = hms("db", command)
        assert (answer.code, answer.out) == (2, "")
        assert "'hms db create' makes one" in answer.err
        assert not FILE.exists()
    assert hms("db", "create").out == f"made SQLite {FILE}\n"
    assert hms("db", "create").out == f"already there: SQLite {FILE}\n"
    assert hms("db", "upgrade").out == "schema 0006: nothing to do\n"
    hms(*COMPARE, "--tasks", 30, "--store")
    document = hms("db", "status", "--json", "-").document
    assert (document["backend"], document["address"], document["schema"]) == ("SQLite", str(FILE), "0006")
    assert document["size_bytes"] > 50_000
    assert document["tables"] == {
        "runs": 1, "tasks": 30, "scheduler_results": 90, "training_data": 0, "model_versions": 0, "submitted_tasks": 0,
        "hourly_means": 0, "minute_means": 0, "run_means": 3, "retrainings": 0, "learning_figures": 0,
        "measured_times": 0,
    }  # fmt: skip
    shown = hms("db", "status").out
    assert "SQLite" in shown
    assert "scheduler_results  90 rows" in shown
    unsure = hms("db", "clear")
    assert unsure.code == 2
    assert "30 tasks and 1 run in" in unsure.err
    assert "--yes" in unsure.err
    assert hms("db", "clear", "--yes").out == "forgot 30 tasks and 1 run\n"
    assert hms("db", "status", "--json", "-").document["tables"]["scheduler_results"] == 0


def test_clear_gives_the_room_back(hms: Hms) -> None:
    hms(*COMPARE, "--tasks", 2000, "--store")
    before = FILE.stat().st_size
    assert hms("db", "clear", "--yes").out == "forgot 2,000 tasks and 1 run\n"
    assert FILE.stat().st_size < before / 5


def test_upgrade_of_an_older_store(hms: Hms) -> None:
    FILE.parent.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).parents[1] / "golden" / "store_v1.db", FILE)
    refused = hms("db", "status")
    assert (refused.code, "run 'hms db upgrade'" in refused.err) == (2, True)
    assert hms("db", "upgrade").out == "schema 0001 is now 0006\n"
    assert hms("db", "upgrade").out == "schema 0006: nothing to do\n"
    assert hms("db", "status", "--json", "-").document["tables"]["tasks"] == 12


@pytest.mark.parametrize("command", ["status", "clear", "upgrade"])
def test_a_damaged_store_is_one_line(hms: Hms, command: str) -> None:
    hms("db", "create")
    FILE.write_bytes(b"garbage" * 10_000)
    answer = hms("db", command)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "is damaged: file is not a database; restore a copy" in answer.err


def test_help(hms: Hms) -> None:
    answer = hms("db")
    assert answer.code == 0
    for command in ("create", "upgrade", "status", "export", "clear"):
        assert command in answer.out
    assert hms("db", "destroy").code == 2


def test_compare_is_kept(hms: Hms) -> None:
    options = ("--tasks", 2100, "--seed", 5, "--dependency-prob", 0.3, "--warmup", 7)
    plain = hms(*COMPARE, *options).document
    answer = hms(*COMPARE, *options, "--store")
    assert answer.err == f"note: kept as run 1 in {FILE}\n"
    document = answer.document
    assert document["schedulers"]["mct"]["energy"] == plain["schedulers"]["mct"]["energy"]
    run = ask(lambda store: store.run(1))
    assert run is not None
    assert (run.kind, run.status, run.seed, run.tasks) == ("compare", "finished", 5, 2100)
    assert (run.first_task_id, run.last_task_id) == (0, 2099)
    assert run.schedulers == ("mct", "greedy", "oracle")
    assert run.configuration == {"workload": document["workload"], "cluster": document["cluster"]}
    assert run.summary == document["schedulers"]
    found = ask(lambda store: store.comparative(10_000))
    assert len(found) == 2100
    assert any(each.task.dependencies for each in found)
    for name, figures in document["schedulers"].items():
        rows = [row for each in found for row in each.results if row.scheduler_name == name]
        counted = [row for row in rows if row.task_id >= 7]  # the figures leave out the warm-up, the rows do not
        assert len(rows) == 2100
        assert sum(row.actual_time for row in counted) == pytest.approx(figures["total_time"], rel=1e-9)
        assert sum(row.response_time for row in counted) / 2093 == pytest.approx(figures["avg_response"], rel=1e-9)
        for row in rows:
            assert sum(part.share for part in row.parts if not part.lost) == pytest.approx(1.0)
    again = hms(*COMPARE, "--tasks", 10, "--store")
    assert again.err.startswith("note: kept as run 2 in")
    second = ask(lambda store: store.run(2))
    assert second is not None
    assert second.first_task_id == 2100


def test_a_trace_with_numbers_of_its_own(hms: Hms) -> None:
    Path("trace.csv").write_text(
        "task_id,size,compute_intensity,memory_required,arrival_time,dependencies\n"
        '900,500,0.5,10,0,[]\n70,400,0.25,10,1,[900]\n80,300,0.5,10,2,"[70, 900]"\n'
    )
    answer = hms(*COMPARE, "--trace", "trace.csv", "--store")
    assert answer.code == 0, answer.err
    tasks = [each.task for each in reversed(ask(lambda store: store.comparative(10)))]
    assert [(task.task_id, task.size, task.dependencies) for task in tasks] == [
        (0, 500.0, ()),
        (1, 400.0, (0,)),
        (2, 300.0, (1, 0)),
    ]


def test_failed_tasks_are_kept(hms: Hms) -> None:
    down = "{time: 0.5, device: cpu_0, speed: 0}"
    Path("config.yaml").write_text(f"simulation: {{num_gpus: 0}}\ncluster: {{disturbances: [{down}]}}")
    figures = hms(*COMPARE, "--tasks", 20, "--store").document["schedulers"]["greedy"]
    found = ask(lambda store: store.comparative(100, scheduler="greedy"))
    assert sum(each.results[0].failed for each in found) == figures["failed"] > 0


def test_a_store_that_cannot_be_used_is_said_before_the_race(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql+asyncpg://user:hunter2@127.0.0.1:1/races")
    for command in (("compare", "--tasks", 10**6, "--store"), ("db", "status"), ("db", "create")):
        answer = hms(*command)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.count("\n") == 1
        assert "127.0.0.1:1/races does not answer" in answer.err
        assert "hunter2" not in answer.err


def test_a_write_that_fails_ends_the_run(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = kept_run._batch

    def breaks(run, tasks, ids, positions, outcomes):  # type: ignore[no-untyped-def]
        if positions.start:
            raise OSError(28, "No space left on device")
        return batches(run, tasks, ids, positions, outcomes)

    monkeypatch.setattr(kept_run, "_batch", breaks)
    answer = hms(*COMPARE, "--tasks", 3000, "--store")
    assert answer.code == 2
    assert "No space left" in answer.err
    assert answer.document["workload"]["tasks"] == 3000, "the result is shown all the same"
    run = ask(lambda store: store.run(1))
    assert run is not None
    assert (run.status, run.tasks, run.reserved) == ("failed", 2000, 2000)


def test_export(hms: Hms) -> None:
    hms("db", "create")
    answer = hms("db", "export", "training_data", "data/long_term_history.csv")
    assert answer.out == "wrote data/long_term_history.csv: 0 rows of training_data\n"
    with Path("data/long_term_history.csv").open(newline="") as file:
        assert next(csv.reader(file))[:3] == ["task_id", "size", "compute_intensity"]
    hms(*COMPARE, "--tasks", 20, "--store")
    assert hms("db", "export", "scheduler_results", "out/results.parquet").out.endswith(
        "60 rows of scheduler_results\n"
    )
    assert Path("out/results.parquet").read_bytes()[:4] == b"PAR1"
    for arguments, says in (
        (("task", "x.csv"), "unknown table 'task': did you mean 'tasks'?"),
        (("tasks", "x.txt"), "ends in .csv or .parquet"),
        (("tasks", "data/hybrid_scheduler.db/x.csv"), "cannot be written"),
    ):
        bad = hms("db", "export", *arguments)
        assert (bad.code, bad.out) == (2, "")
        assert says in bad.err


def test_postgresql(hms: Hms, monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    assert hms("db", "status").code == 2
    assert hms("db", "create").out.startswith("made PostgreSQL ")
    assert "kept as run 1" in hms(*COMPARE, "--tasks", 50, "--store").err
    document = hms("db", "status", "--json", "-").document
    assert document["tables"]["scheduler_results"] == 150
    assert hms("db", "export", "runs", "runs.csv").code == 0
    with Path("runs.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert json.loads(row["schedulers"]) == ["mct", "greedy", "oracle"]
    assert hms("db", "clear", "--yes").out == "forgot 50 tasks and 1 run\n"


def test_without_the_libraries(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("hybrid_scheduler.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("hybrid_scheduler.store", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    answer = hms("db", "status")
    assert answer.code == 2
    assert "pip install hybrid-ml-scheduler[server]" in answer.err
