"""One race as a run that can be reported: the folder an experiment of one seed would have left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hybrid_scheduler.experiments.base import Record
from hybrid_scheduler.experiments.figures import figure_info, race_figures
from hybrid_scheduler.experiments.files import DOCUMENT
from hybrid_scheduler.experiments.parts import FOLDER, part_name, write_part, write_whole
from hybrid_scheduler.experiments.racing import learning_curves, race_samples
from hybrid_scheduler.experiments.result import machine_facts
from hybrid_scheduler.experiments.statistics import estimate, method, verdict_method
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound
from hybrid_scheduler.reports.run_folder import RACE, Run, open_run

COMPARED = ("avg_response", "makespan", "energy", "cost")
SHOWN = ("avg_response", "p99_response", "gap", "makespan", "makespan_gap", "energy", "cost", "gpu_share")
PLOTS = (
    "makespan_comparison",
    "latency_cdf",
    "latency_boxplot",
    "avg_duration_comparison",
    "cost_comparison",
    "speedup_comparison",
    "learning_curve",
    "gpu_fraction_distribution",
    "allocation_over_time",
    "workload",
    "dependency_graph",
)


@dataclass(frozen=True)
class OneRace:
    """What one race gave.

    Attributes:
        title: Of the report.
        question: In a line.
        seed: Of the race.
        tasks: The stream.
        outcomes: By scheduler.
        cluster: The node in words, as `World.facts` says it.
        bound: What no schedule could beat, where it is known.
        settings: What else the report says of the configuration.
    """

    title: str
    question: str
    seed: int
    tasks: TaskBatch
    outcomes: Mapping[str, OutcomeBatch]
    cluster: Mapping[str, Any]
    bound: LowerBound | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def race_run(race: OneRace, folder: Path) -> Run:
    """Write a race's document and arrays into a folder, and open it as a run."""
    metrics = {name: summarise(batch) for name, batch in race.outcomes.items()}
    figures = race_figures(race.outcomes, metrics, race.bound)
    record = Record(race.seed, figures, learning_curves(race.outcomes), race_samples(race.outcomes, race.tasks))
    estimates = {
        name: {metric: estimate([value]).to_json() for metric, value in values.items()}
        for name, values in figures.items()
    }
    document = {
        "experiment": RACE,
        "title": race.title,
        "question": race.question,
        "seeds": [race.seed],
        "schedulers": {name: estimates[name] for name in race.outcomes},
        **{name: estimate for name, estimate in estimates.items() if name not in race.outcomes},
        "comparisons": [],
        "significance": [],
        "intervals": method(1),
        "verdicts": verdict_method(),
        "compared": list(COMPARED),
        "shown": {name: figure_info(name).head for name in SHOWN},
        "plots": list(PLOTS),
        "configuration": {
            "tasks": len(race.tasks),
            "parameters": {},
            "cluster": race.cluster,
            "settings": dict(race.settings),
        },
        "version": version("hybrid-ml-scheduler"),
        "machine": machine_facts(),
        "work_seconds": None,
    }
    parts = folder / FOLDER
    parts.mkdir(parents=True, exist_ok=True)
    write_part(parts / part_name(race.seed, None), record)
    write_whole(folder / DOCUMENT, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())
    return open_run(folder)
