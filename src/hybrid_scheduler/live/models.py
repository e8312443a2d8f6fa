"""Learners that outlive a run: loaded from their last saved state, saved regularly, numbered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.learning.model_file import make_folder
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError, SchedulerError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.store import ModelVersionRow, Store
from hybrid_scheduler.training.pretrained import idle_view, load_pretrained

KEPT = 3
"""Saved files kept per learner."""
_TRIAL = Task(0, 500.0, 0.5, 50.0, 0.0)


@dataclass
class LiveModel:
    """Where a learner in the race started from, and its last saved version."""

    learner: Learner
    origin: str
    version: int | None = None

    def document(self, name: str) -> dict[str, Any]:
        """As in `ModelInfo`.

        Raises:
            SchedulerError: The learner cannot tell its figures.
        """
        with named_failures(self.learner):
            figures = self.learner.figures()
            return {
                "scheduler_name": name,
                "origin": self.origin,
                "version": self.version,
                "updates": int(self.learner.updates),
                "refits": int(self.learner.refits),
                "refit_checks": int(self.learner.refit_checks),
                "drifts": int(self.learner.drifts),
                "figures": {key: None if figure is None else float(figure) for key, figure in figures.items()},
            }


def load_models(
    schedulers: Mapping[str, Scheduler],
    saved: Mapping[str, Sequence[ModelVersionRow]],
    world: World,
    log: Log,
    *,
    packaged: bool = True,
) -> dict[str, LiveModel]:
    """Learners that go on from their last saved state, else from the packaged model, else cold.

    Args:
        schedulers: The schedulers of the race by name.
        saved: Saved versions of each learner, newest first.
        world: The node.
        log: Called with a level and a line for the log.
        packaged: Whether packaged models may be taken; they are of simulated nodes.
    """
    view = idle_view(world)
    models = {}
    for name, scheduler in schedulers.items():
        if isinstance(scheduler, Learner):
            restored = _saved(name, scheduler, saved.get(name, ()), view, log)
            models[name] = restored or (
                _packaged(name, scheduler, world, log) if packaged else LiveModel(scheduler, "cold")
            )
    return models


def _packaged(name: str, blank: Learner, world: World, log: Log) -> LiveModel:
    learner = blank.clone()
    try:
        if load_pretrained(learner, world):
            _tell(name, learner, log)
            return LiveModel(learner, "packaged")
    except HybridSchedulerError as error:
        log("warning", f"the packaged model of {name} cannot be used: {error}")
    return LiveModel(blank, "cold")


def _saved(
    name: str, blank: Learner, saved: Sequence[ModelVersionRow], view: ClusterView, log: Log
) -> LiveModel | None:
    for row in saved:
        if not Path(row.path).is_file():
            continue  # only the latest are kept
        learner = blank.clone()  # one that could not be used may have left its mark
        try:
            with named_failures(learner):
                learner.load_model(row.path)
                learner.check_devices(len(view.devices))
                learner.explain(_TRIAL, view)  # one of another node refuses now, not in the middle of the race
                _tell(name, learner, log)
        except HybridSchedulerError as error:
            log("warning", f"version {row.id} of {name} cannot be used: {error}")
            continue
        log("info", f"{name} goes on from version {row.id}")
        return LiveModel(learner, "saved", row.id)
    return None


def _tell(name: str, learner: Learner, log: Log) -> None:
    with named_failures(learner):
        if said := learner.loaded_note():
            log("info", f"{name}: {said}")


def of_node(saved: Sequence[ModelVersionRow], folder: Path) -> list[ModelVersionRow]:
    """Those versions that were saved in this folder (`save_model`), and so of this kind of node."""
    return [row for row in saved if Path(row.path).parent.parent == folder.resolve()]


def save_model(folder: Path, name: str, model: LiveModel) -> Path | None:
    """Write one learner to a new numbered file and drop old ones; None when it has nothing to save yet.

    Raises:
        OSError: It cannot be written.
        SchedulerError: The learner failed.
    """
    place = folder.resolve() / name
    make_folder(place)
    saved = sorted(path for path in place.iterdir() if path.name.split("-")[0].isdecimal())
    number = int(saved[-1].name.split("-")[0]) + 1 if saved else 1
    path = place / f"{number:06d}-{name}{model.learner.model_suffix}"
    try:
        with named_failures(model.learner):
            model.learner.save_model(path)
    except InvalidInputError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from error
        return None
    except SchedulerError as error:
        if isinstance(error.__cause__, OSError | RuntimeError):  # the latter is PyTorch's word for a full disk
            raise OSError(str(error.__cause__)) from error
        raise
    for old in saved[: max(0, len(saved) + 1 - KEPT)]:
        old.unlink(missing_ok=True)
    return path


def note_saved(model: LiveModel, name: str, path: Path) -> Callable[[Store], Awaitable[None]]:
    """What to ask the store after a save: a new version with the figures of this moment."""
    figures, updates = model.learner.figures(), model.learner.updates
    rows = figures.get("rows")

    async def note(store: Store) -> None:
        model.version = await store.add_model_version(
            name,
            rows=int(updates if rows is None else rows),
            r2=figures.get("r2"),
            mae=figures.get("mae"),
            path=str(path),
        )

    return note
