"""A third party's scheduler in a package of its own: installed, found, raced, and its own tests run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HMS = ("-c", "from hybrid_scheduler.cli import main; main()")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "hms-shortest-queue"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The example installed into a folder, without network; the environment in which it is found."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-index", "--no-build-isolation", "--target", str(target), str(EXAMPLE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {**os.environ, "PYTHONPATH": str(target)}


def python(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=EXAMPLE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_found_and_raced_by_name(installed: dict[str, str]) -> None:
    options = ["--schedulers", "shortest_queue,oracle", "--tasks", "200", "--seed", "1", "--json", "-"]
    result = json.loads(python(installed, *HMS, "compare", *options))
    assert list(result["schedulers"]) == ["shortest_queue", "oracle"]
    mine = result["schedulers"]["shortest_queue"]
    assert (mine["tasks"], mine["failed"]) == (200, 0)
    assert mine["makespan"] >= result["lower_bound"]["makespan"] > 0
    assert mine["avg_response"] >= result["lower_bound"]["avg_response"] > 0
    assert mine["energy"] != result["schedulers"]["oracle"]["energy"]


def test_listed(installed: dict[str, str]) -> None:
    code = "from hybrid_scheduler.schedulers.registry import *; print(*scheduler_names())"
    assert "shortest_queue" in python(installed, "-c", code).split()
    assert "Joins the shortest queue" in python(installed, *HMS, "schedulers")


def test_not_listed_where_it_is_not_installed() -> None:
    code = "from hybrid_scheduler.schedulers.registry import *; print(*scheduler_names())"
    assert "shortest_queue" not in python(dict(os.environ), "-c", code).split()


def test_its_own_tests_pass(installed: dict[str, str]) -> None:
    out = python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(EXAMPLE), "tests")
    assert "passed" in out
    assert "failed" not in out
