"""Run the command line inside the test's own process, from an empty folder and a clean environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_answer import Answer, Hms

from hybrid_scheduler.cli import main

CHEAP = "round_robin,random,greedy,cpu_only,gpu_only,mct,oracle"
"""Who races when a test does not care: those that learn nothing, because they are quick."""


@pytest.fixture
def hms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hms:
    monkeypatch.chdir(tmp_path)
    for name in ("NUM_GPUS", "HMS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object, default_race: bool = False) -> Answer:
        words = [str(argument) for argument in arguments]
        if words[:1] == ["compare"] and "--schedulers" not in words and not default_race:
            words[1:1] = ["--schedulers", CHEAP]
        code = main(words)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
