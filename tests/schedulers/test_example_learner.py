"""A third party's learner in a package of its own: trained, loaded and raced by the commands, with no edit in ours.

That the live service saves it and goes on from there is shown in `test_third_party_learner`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_packages import HMS, install, own_tests, python

NAME = "hms-bandit"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(NAME, tmp_path_factory.mktemp("site"))


def compared(installed: dict[str, str], folder: Path, *options: str) -> dict[str, float]:
    race = ("compare", "--schedulers", "bandit,hybrid_ml", "--tasks", "400", "--load", "0.6", "--seed", "3")
    result = json.loads(python(installed, folder, *HMS, *race, *options, "--json", "-"))
    found: dict[str, float] = result["schedulers"]["bandit"]
    return found


def test_trained_and_loaded(installed: dict[str, str], tmp_path: Path) -> None:
    train = (
        "train",
        "--schedulers",
        "bandit",
        "--tasks",
        "3000",
        "--out",
        "models",
        "--energy-weight",
        "0",
        "--json",
        "-",
    )
    report = json.loads(python(installed, tmp_path, *HMS, *train))["models"]
    assert [*report] == ["bandit"]
    assert report["bandit"]["updates"] == 3000
    assert [file.name for file in (tmp_path / "models").iterdir()] == ["bandit.bandit"]

    cold = compared(installed, tmp_path, "--train-tasks", "0")
    own = compared(installed, tmp_path, "--model", "models/bandit.bandit")
    assert own["avg_response"] < cold["avg_response"]
    energy = compared(installed, tmp_path, "--model", "models/bandit.bandit", "--energy-weight", "1")
    assert energy["energy"] < own["energy"], "its objective is asked for by the option of the built-in learners"


def test_its_packaged_model_is_the_start_where_it_fits(installed: dict[str, str], tmp_path: Path) -> None:
    packaged, cold = (compared(installed, tmp_path, *options) for options in ((), ("--train-tasks", "0")))
    assert packaged["avg_response"] < cold["avg_response"]
    other, other_cold = (
        compared(installed, tmp_path, "--gpus", "2", *options) for options in ((), ("--train-tasks", "0"))
    )
    assert other["avg_response"] == other_cold["avg_response"]


def test_its_own_tests_pass(installed: dict[str, str]) -> None:
    out = own_tests(installed, NAME)
    assert "passed" in out
    assert "failed" not in out
