"""Experiments are kept as runs, and reported by number."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from cli_answer import Hms

from hybrid_scheduler.experiments import runner
from hybrid_scheduler.experiments.progress_file import Progress, read_progress
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import RunRow, open_store

QUICK = ("experiment", "heavy", "--seeds", 1, "--seed", 4, "--tasks", 12, "--jobs", 1)
STORE = "data/hybrid_scheduler.db"


def _runs() -> list[RunRow]:
    async def read() -> list[RunRow]:
        async with await open_store(f"sqlite+aiosqlite:///{STORE}") as store:
            return await store.runs()

    return asyncio.run(read())


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "POSTGRES_HOST"):
        monkeypatch.delenv(name, raising=False)


def test_a_finished_run_and_its_report_by_number(hms: Hms) -> None:
    answer = hms(*QUICK, "--out", "here", "--progress-file", "progress.json")
    assert (answer.code, answer.err) == (0, "")
    assert f"; kept as run 1 in {STORE}" in answer.out
    (run,) = _runs()
    assert (run.id, run.kind, run.name, run.seed, run.status) == (1, "experiment", "heavy", 4, "finished")
    assert run.configuration["folder"] == str(Path("here").resolve())
    assert (run.configuration["seeds"], run.configuration["tasks"]) == ([4], 12)
    document = json.loads(Path("here/result.json").read_text())
    assert run.schedulers == tuple(document["schedulers"])
    assert run.summary is not None
    for name, figures in run.summary["schedulers"].items():
        assert {"avg_response", "p99_response", "makespan", "cost", "gpu_share"} == set(figures)
        for metric, figure in figures.items():
            assert figure == {key: document["schedulers"][name][metric][key] for key in ("mean", "low", "high")}
    assert set(run.summary["files"]) == {path.name for path in Path("here").iterdir() if path.is_file()}
    assert read_progress(Path("progress.json")) == Progress(1, 1, 0.0, 1, tuple(run.summary["files"]))

    Path("here/report.pdf").unlink()
    report = hms("report", 1)
    assert (report.code, report.err) == (0, "")
    assert Path("here/report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(InvalidInputError("unlucky"), "failed", 2), (KeyboardInterrupt(), "interrupted", 130)],
)
def test_what_does_not_finish(
    hms: Hms, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: str, code: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(runner, "run_experiment", fail)
    assert hms(*QUICK).code == code
    (run,) = _runs()
    assert (run.status, run.summary) == (status, None)
    assert run.ended is not None


def test_without_a_store(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hms(*QUICK, "--no-store").err == ""
    assert not Path(STORE).exists()
    monkeypatch.setenv("DATABASE_URL", "postgresql+asyncpg://nobody@127.0.0.1:1/none")
    answer = hms(*QUICK)
    assert answer.code == 0
    assert answer.err.startswith("note: the run is not stored: ")
    assert "kept as" not in answer.out
    assert Path("data/results/heavy/report.pdf").is_file()
