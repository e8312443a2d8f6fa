"""What the learners of a race care for, and what they know when it starts: a model, training, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.objective import Objective, Weights
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.training.pretrained import load_pretrained
from hybrid_scheduler.training.train import train_scheduler

Models = str | Path | Iterable[str | Path]
"""Files of saved models, one or several."""
Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Start:
    """How learners start, and what they care for.

    Attributes:
        models: Files to load, each for the learners that read its kind of file.
        train_tasks: Train on so many tasks, forests from nothing, the agent from its packaged network on; 0 starts
            cold; None takes the packaged model where it fits.
        packaged: Whether packaged models may be taken; they are of simulated nodes.
        objective: What they care for, if somebody says.
    """

    models: tuple[Path, ...] = ()
    train_tasks: int | None = None
    packaged: bool = True
    objective: Objective | None = None

    @classmethod
    def chosen(
        cls,
        model: Models | None,
        train_tasks: int | None,
        weights: Weights | None,
        energy_weight: float | None,
        *,
        packaged: bool = True,
    ) -> Start:
        """As a caller says it.

        Raises:
            InvalidInputError: The weights break a rule.
        """
        files = () if model is None else (model,) if isinstance(model, str | Path) else model
        return cls(tuple(map(Path, files)), train_tasks, packaged, Objective.chosen(weights, energy_weight))


def prepare(
    schedulers: Mapping[str, Scheduler],
    start: Start,
    scenario: Scenario,
    progress: Progress | None = None,
) -> list[str]:
    """Bring every learner to its start; returns what the user should know.

    Raises:
        InvalidInputError: A model fits no learner in the race, or there is nothing to train on.
    """
    if start.models and start.train_tasks is not None:
        raise InvalidInputError("model and train_tasks both say how learners start; leave one out")
    learners = {name: scheduler for name, scheduler in schedulers.items() if isinstance(scheduler, Learner)}
    chosen = _models(start.models, learners)
    notes, training, cluster = [], None, scenario.world.cluster
    for name, learner in learners.items():
        if name in chosen:
            learner.load_model(chosen[name])
            learner.check_devices(len(cluster.devices))
        elif start.train_tasks is None:
            if not start.packaged:
                notes.append(f"{name} starts cold: the packaged models are of simulated nodes")
            elif not load_pretrained(learner, scenario.world):
                notes.append(f"{name} starts cold: no packaged model fits this node; --train-tasks N trains one first")
        elif start.train_tasks > 0:
            training = training or scenario.training(start.train_tasks)
            told = None if progress is None else (lambda done, name=name: progress(f"train {name}", done))
            train_scheduler(learner, training, progress=told)
        if said := learner.loaded_note():
            notes.append(f"{name}: {said}; --train-tasks N trains one for these weights first")
    return notes


def _models(files: tuple[Path, ...], learners: Mapping[str, Learner]) -> dict[str, Path]:
    """Which learner loads which file, by the kind of file each one writes."""
    chosen: dict[str, Path] = {}
    for path in files:
        readers = [name for name, learner in learners.items() if path.name.endswith(learner.model_suffix)]
        if not readers:
            kinds = ", ".join(sorted({learner.model_suffix for learner in learners.values()}))
            raise InvalidInputError(
                f"model {path}: no learner in this race reads such a file; known kinds: {kinds or 'none'}"
            )
        chosen.update(dict.fromkeys(readers, path))
    return chosen
