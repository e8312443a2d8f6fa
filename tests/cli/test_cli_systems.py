"""Where the live service runs, and what is said where it does not."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from cli_answer import Hms

from hybrid_scheduler.cli.serve import unsupported

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {"Operating System :: POSIX :: Linux": "linux", "Operating System :: MacOS": "darwin"}


def test_another_system_is_told_in_one_line_before_anything_starts(
    hms: Hms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["hybrid_scheduler.cli.serve"], "PLATFORM", "win32")
    answer = hms("serve", "--port", "0")
    assert answer.code == 1
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    assert "this is Windows" in answer.err
    assert list(tmp_path.iterdir()) == [], "something was begun"


def test_the_package_names_the_systems_it_runs_on() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    named = [each for each in classifiers if each.startswith("Operating System")]
    assert sorted(named) == sorted(SYSTEMS)
    for system in named:
        assert unsupported(SYSTEMS[system]) is None
    assert unsupported("win32") is not None


def test_help_of_train_says_how_many_tasks_it_takes(hms: Hms) -> None:
    from hybrid_scheduler.cli.train import DEFAULT_TASKS

    said = " ".join(hms("train", "--help").out.split())
    assert f"Number of tasks; default {DEFAULT_TASKS}, or all of a file." in said
