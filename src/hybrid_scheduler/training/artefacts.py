"""What the phases of the pipeline write, and where."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from hybrid_scheduler.model.outcome import OutcomeBatch

RESULT_COLUMNS = (
    "task_id",
    "scheduler_name",
    "gpu_fraction",
    "gpu_id",
    "actual_time",
    "wait_time",
    "response_time",
    "finish_time",
    "energy_consumption",
    "execution_cost",
    "failed",
)


class Artefacts:
    """The files of one pipeline, below one folder.

    Attributes:
        folder: The folder.
        profile: This machine's profile.
        node: This machine as a simulated node, its measurements beside it.
        workload: The tasks the learners are trained on.
        models: The folder of what was trained: the learners, and the predictor of the optimal fraction.
        results: Every decision of the race and what became of it.
        plots: The folder of the plots.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.profile = folder / "data/profiles/hardware_profile.json"
        self.node = folder / "data/profiles/node.yaml"
        self.workload = folder / "data/workload_traces/workload_train.csv"
        self.models = folder / "models"
        self.results = folder / "data/results/scheduling_results.csv"
        self.plots = folder / "data/results/plots"


def write_results(path: Path, outcomes: Mapping[str, OutcomeBatch]) -> None:
    """One row per task and scheduler."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(RESULT_COLUMNS)
        for name, batch in outcomes.items():
            for o in batch:
                figures = (o.actual_time, o.wait_time, o.response_time, o.finish_time, o.energy, o.cost, o.failed)
                writer.writerow((o.task_id, name, o.gpu_fraction, "" if o.gpu_id is None else o.gpu_id, *figures))
