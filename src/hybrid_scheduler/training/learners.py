"""Training and saving learners, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.learning.model_file import make_folder
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.schedulers.base import LabelLearner, Learner, RaceLearner, Scheduler
from hybrid_scheduler.training.offline import OfflineTrainer
from hybrid_scheduler.training.train import train_scheduler

PREDICTOR, PREDICTOR_FILE = "forest", "scheduler_model.pkl"
"""Name and file of the predictor of the optimal fraction, which is no scheduler."""

Progress = Callable[[str, int], None]
"""Told who has done how many tasks."""


def trainable(schedulers: Mapping[str, Scheduler]) -> dict[str, Learner]:
    """The schedulers as learners that can be trained.

    Raises:
        InvalidInputError: One of them cannot.
    """
    learners: dict[str, Learner] = {}
    for name, scheduler in schedulers.items():
        if not isinstance(scheduler, LabelLearner | RaceLearner):
            why = "learns only while it works" if isinstance(scheduler, Learner) else "does not learn"
            raise InvalidInputError(f"{name} {why}, so it cannot be trained beforehand; leave it out")
        learners[name] = scheduler
    return learners


def train_models(
    learners: Mapping[str, Learner],
    scenario: Scenario,
    folder: Path,
    *,
    predictor: str | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, object]]:
    """Train learners on the same tasks and save each; returns where it went and how good it is.

    Args:
        learners: By name; each is saved as its name with its `model_suffix`.
        scenario: What they are trained on.
        folder: Where the files go.
        predictor: Kind of the predictor of the optimal fraction to train too (`OfflineTrainer`); None for no such.
        progress: Told who has done how many tasks.

    Raises:
        InvalidInputError: The tasks do not go together with the node, or a package is missing.
        SchedulerError: A learner failed.
    """
    make_folder(folder)  # before the work: a folder that cannot be made is said at once
    tasks = scenario.batch()
    report: dict[str, dict[str, object]] = {}
    if predictor is not None:
        began, path = perf_counter(), folder / PREDICTOR_FILE
        trainer = OfflineTrainer(predictor, world=scenario.world, seed=scenario.seed)
        trained = trainer.run_full_pipeline(tasks, path)
        about = {**trained["training_results"], "feature_importances": trained["feature_importances"]}
        report[PREDICTOR] = {**about, "path": str(path), "tasks": len(tasks), "seconds": perf_counter() - began}
        _tell(progress, PREDICTOR, len(tasks))
    for name, learner in learners.items():
        began, path = perf_counter(), folder / f"{name}{learner.model_suffix}"
        with named_failures(learner):
            told = partial(_tell, progress, name)
            train_scheduler(learner, scenario, progress=told)
            learner.save_model(path)
        about = {"updates": learner.updates}
        report[name] = {**about, "path": str(path), "tasks": len(tasks), "seconds": perf_counter() - began}
        _tell(progress, name, len(tasks))
    return report


def _tell(progress: Progress | None, name: str, done: int) -> None:
    if progress is not None:
        progress(name, done)
