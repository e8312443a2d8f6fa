"""Runs to report on: a race with everything, and one with a parameter, both small."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_scheduler.experiments.energy import Energy
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.mixed import Mixed
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.reports.run_folder import Run, open_run


@pytest.fixture(scope="session")
def mixed_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("mixed")
    write_result(run_experiment(Mixed(tasks=120, train_tasks=200), [1, 2, 3], folder=folder), folder)
    return open_run(folder)


@pytest.fixture(scope="session")
def energy_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("energy")
    write_result(run_experiment(Energy(tasks=60, train_tasks=60), [1, 2], folder=folder), folder)
    return open_run(folder)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
