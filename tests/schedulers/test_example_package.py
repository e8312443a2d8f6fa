"""A third party's scheduler in a package of its own: installed, found, raced, and its own tests run."""

from __future__ import annotations

import json
import os

import pytest
from example_packages import EXAMPLES, HMS, install, own_tests, python

NAME = "hms-shortest-queue"
NAMES = "from hybrid_scheduler.schedulers.registry import *; print(*scheduler_names())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(NAME, tmp_path_factory.mktemp("site"))


def test_found_and_raced_by_name(installed: dict[str, str]) -> None:
    options = ["--schedulers", "shortest_queue,oracle", "--tasks", "200", "--seed", "1", "--json", "-"]
    result = json.loads(python(installed, EXAMPLES, *HMS, "compare", *options))
    assert list(result["schedulers"]) == ["shortest_queue", "oracle"]
    mine = result["schedulers"]["shortest_queue"]
    assert (mine["tasks"], mine["failed"]) == (200, 0)
    assert mine["makespan"] >= result["lower_bound"]["makespan"] > 0
    assert mine["avg_response"] >= result["lower_bound"]["avg_response"] > 0
    assert mine["energy"] != result["schedulers"]["oracle"]["energy"]


def test_listed(installed: dict[str, str]) -> None:
    assert "shortest_queue" in python(installed, EXAMPLES, "-c", NAMES).split()
    assert "Joins the shortest queue" in python(installed, EXAMPLES, *HMS, "schedulers")


def test_not_listed_where_it_is_not_installed() -> None:
    assert "shortest_queue" not in python(dict(os.environ), EXAMPLES, "-c", NAMES).split()


def test_its_own_tests_pass(installed: dict[str, str]) -> None:
    out = own_tests(installed, NAME)
    assert "passed" in out
    assert "failed" not in out
