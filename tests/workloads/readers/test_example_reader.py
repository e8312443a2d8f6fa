"""A third party's reader in a package of its own: installed, found, raced, and its own tests run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from example_packages import EXAMPLES, HMS, install, own_tests, python

NAME = "hms-json-lines"
NAMES = "from hybrid_scheduler.workloads.readers.registry import *; print(*reader_names())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(NAME, tmp_path_factory.mktemp("site"))


def test_found_recognised_and_raced(installed: dict[str, str], tmp_path: Path) -> None:
    lines = "".join(f'{{"submit": {5 * i}, "seconds": {1 + i % 7}}}\n' for i in range(50))
    (tmp_path / "jobs.jsonl").write_text(lines)
    assert "Jobs as JSON lines (json_lines), 50 tasks" in python(installed, tmp_path, *HMS, "inspect", "jobs.jsonl")
    options = ["--trace", "jobs.jsonl", "--schedulers", "mct,oracle", "--json", "-"]
    result = json.loads(python(installed, tmp_path, *HMS, "compare", *options))
    assert result["workload"]["format"] == "json_lines"
    assert result["schedulers"]["mct"]["tasks"] == 50
    assert "intensity_from_seed" in [said["rule"] for said in result["workload"]["assumed"]]


def test_listed_only_where_it_is_installed(installed: dict[str, str]) -> None:
    assert "json_lines" in python(installed, EXAMPLES, "-c", NAMES).split()
    assert "json_lines" not in python(dict(os.environ), EXAMPLES, "-c", NAMES).split()


def test_its_own_tests_pass(installed: dict[str, str]) -> None:
    out = own_tests(installed, NAME)
    assert "passed" in out
    assert "failed" not in out
