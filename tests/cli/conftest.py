"""Run the command line inside the test's own process, from an empty folder and a clean environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_answer import Answer, Hms

from hybrid_scheduler.cli import main


@pytest.fixture
def hms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hms:
    monkeypatch.chdir(tmp_path)
    for name in ("NUM_GPUS", "HMS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Answer:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
