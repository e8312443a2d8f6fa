"""Learners that outlive a run: loaded from their last saved state, saved regularly, numbered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.store import ModelVersionRow, Store
from hybrid_scheduler.training.pretrained import MODELS, load_pretrained

KEPT = 3
"""Saved files kept per learner."""


@dataclass
class LiveModel:
    """Where a learner in the race started from, and its last saved version."""

    learner: Learner
    origin: str
    version: int | None = None

    def document(self, name: str) -> dict[str, Any]:
        """As in `ModelInfo`."""
        return {
            "scheduler_name": name,
            "origin": self.origin,
            "version": self.version,
            "updates": self.learner.updates,
            "refits": self.learner.refits,
            "figures": self.learner.figures(),
        }


def load_models(
    schedulers: dict[str, Scheduler],
    saved: dict[str, list[ModelVersionRow]],
    cluster: ClusterSpec,
    say: Callable[[str, str], None],
) -> dict[str, LiveModel]:
    """Let every learner go on from its last saved state, else from the packaged model, else cold."""
    models = {}
    for name, scheduler in schedulers.items():
        if isinstance(scheduler, Learner):
            models[name] = _load(name, scheduler, saved.get(name, []), cluster, say)
    return models


def _load(
    name: str,
    learner: Learner,
    saved: list[ModelVersionRow],
    cluster: ClusterSpec,
    say: Callable[[str, str], None],
) -> LiveModel:
    for row in saved:
        if not Path(row.path).is_file():
            continue
        try:
            learner.load_model(row.path)
            learner.check_devices(len(cluster.devices))
        except InvalidInputError as error:
            say("warning", f"version {row.id} of {name} cannot be used: {error}")
            break
        say("info", f"{name} goes on from version {row.id}")
        return LiveModel(learner, "saved", row.id)
    if load_pretrained(learner, name, cluster):
        return LiveModel(learner, "packaged")
    return LiveModel(learner, "cold")


def save_model(folder: Path, name: str, model: LiveModel) -> Path | None:
    """Write one learner to a new numbered file and drop old ones; None when it has nothing to save yet."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    saved = sorted(path for path in place.iterdir() if path.name.split("-")[0].isdecimal())
    number = int(saved[-1].name.split("-")[0]) + 1 if saved else 1
    path = place / f"{number:06d}-{name}{Path(MODELS.get(name, '')).suffix or '.model'}"
    try:
        model.learner.save_model(path)
    except InvalidInputError:
        return None
    for old in saved[: max(0, len(saved) + 1 - KEPT)]:
        old.unlink(missing_ok=True)
    return path


def note_saved(model: LiveModel, name: str, path: Path) -> Callable[[Store], Awaitable[int]]:
    """What to ask the store after a save: a new version with the figures of this moment."""
    figures, updates = model.learner.figures(), model.learner.updates
    rows = figures.get("rows")

    async def note(store: Store) -> int:
        return await store.add_model_version(
            name,
            rows=int(updates if rows is None else rows),
            r2=figures.get("r2"),
            mae=figures.get("mae"),
            path=str(path),
        )

    return note
