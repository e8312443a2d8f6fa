"""Training and saving the learners of a race, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from hybrid_scheduler.learning.model_file import make_folder
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.offline import OfflineTrainer
from hybrid_scheduler.training.train import train_scheduler

FILES = {"forest": "scheduler_model.pkl", "hybrid_ml": "hybrid_ml.npz", "rl_agent": "rl_agent.pth"}


def train_models(
    names: Sequence[str],
    tasks: TaskBatch,
    folder: Path,
    cluster: ClusterSpec,
    physics: Physics,
    *,
    seed: int,
    energy_weight: float = 0.5,
    model_type: str = "random_forest",
    progress: Callable[[str, int], None] | None = None,
) -> dict[str, dict[str, object]]:
    """Train the named models (`FILES`) on the same tasks and save each; returns where it went and how good it is.

    Raises:
        InvalidInputError: The tasks do not go together with the node, or a package is missing.
    """
    make_folder(folder)  # before the work: a folder that cannot be made is said at once
    report: dict[str, dict[str, object]] = {}
    for name in names:
        began, path = perf_counter(), folder / FILES[name]
        if name == "forest":
            trained = OfflineTrainer(model_type, cluster=cluster, physics=physics, seed=seed)
            found = trained.run_full_pipeline(tasks, path)
            report[name] = {**found["training_results"], "feature_importances": found["feature_importances"]}
        else:
            learner = create_scheduler(name, seed, energy_weight=energy_weight)
            assert isinstance(learner, Learner)
            told = None if progress is None else _named(progress, name)
            train_scheduler(learner, tasks, cluster, physics, seed=seed, progress=told)
            learner.save_model(path)
            report[name] = {"updates": learner.updates}
        if progress is not None:
            progress(name, len(tasks))
        report[name] |= {"path": str(path), "tasks": len(tasks), "seconds": perf_counter() - began}
    return report


def _named(progress: Callable[[str, int], None], name: str) -> Callable[[int], None]:
    return lambda done: progress(name, done)
