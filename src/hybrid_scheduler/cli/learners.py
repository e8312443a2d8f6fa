"""What the learners of a race know when it starts: a given model, the packaged one, training, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.training.pretrained import MODELS, load_pretrained
from hybrid_scheduler.training.train import train_scheduler

TRAINING_SEED = 1_000_003
"""Added to the run's seed for the tasks learners are trained on: never those they are judged by."""


@dataclass(frozen=True)
class Start:
    """How learners start.

    Attributes:
        models: Files to load, each for the learners that read its kind of file.
        train_tasks: Train from scratch on so many tasks; 0 starts cold; None takes the packaged model where it fits.
        training: Makes so many tasks of the race's own kind from another seed; None when there is no such source.
    """

    models: tuple[Path, ...]
    train_tasks: int | None
    training: Callable[[int, int], TaskBatch] | None


def prepare(
    schedulers: Mapping[str, Scheduler],
    start: Start,
    cluster: ClusterSpec,
    physics: Physics,
    *,
    seed: int,
    isolated: bool,
    progress: Callable[[str, int], None] | None,
) -> list[str]:
    """Bring every learner to its start; returns what the user should know.

    Raises:
        InvalidInputError: A model fits no learner in the race, or there is nothing to train on.
    """
    if start.models and start.train_tasks is not None:
        raise InvalidInputError("--model and --train-tasks both say how learners start; leave one out")
    learners = {name: each for name, each in schedulers.items() if isinstance(each, Learner)}
    chosen = _models(start.models, learners)
    notes, tasks = [], None
    for name, learner in learners.items():
        if name in chosen:
            learner.load_model(chosen[name])
            learner.check_devices(len(cluster.devices))
        elif start.train_tasks is None:
            if not load_pretrained(learner, name, cluster):
                notes.append(f"{name} starts cold: no packaged model fits this node; --train-tasks N trains one first")
        elif start.train_tasks > 0:
            if start.training is None:
                raise InvalidInputError(
                    "--train-tasks needs tasks of the same kind, but a table has no others; use --preset or --trace"
                )
            tasks = tasks or start.training(start.train_tasks, seed + TRAINING_SEED)
            told = None if progress is None else (lambda done, name=name: progress(f"train {name}", done))
            train_scheduler(
                learner, tasks, cluster, physics, seed=seed + TRAINING_SEED, isolated=isolated, progress=told
            )
    return notes


def _models(files: tuple[Path, ...], learners: Mapping[str, Learner]) -> dict[str, Path]:
    """Which learner loads which file, by the kind of file each one writes."""
    chosen: dict[str, Path] = {}
    for path in files:
        readers = [name for name in learners if Path(MODELS.get(name, "")).suffix == path.suffix]
        if not readers:
            kinds = ", ".join(sorted({Path(MODELS[name]).suffix for name in learners if name in MODELS}))
            raise InvalidInputError(
                f"--model {path}: no learner in this race reads such a file; known kinds: {kinds or 'none'}"
            )
        chosen.update(dict.fromkeys(readers, path))
    return chosen
