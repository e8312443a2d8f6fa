"""Schedulers and environments ready to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.config import Config
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.scenario import ScenarioOptions
from hybrid_scheduler.scenario.scenario import DEFAULT_SEED
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler

if TYPE_CHECKING:
    from hybrid_scheduler.training.environment import RaceEnv


def load_scheduler(
    name: str,
    *,
    gpus: int | None = None,
    cluster: str | Path | None = None,
    model: str | Path | None = None,
    seed: int = DEFAULT_SEED,
    **parameters: Any,
) -> Scheduler:
    """A registered scheduler; a learner goes on from its packaged model where one fits the node.

    Args:
        name: Its name, e.g. `rl_agent`.
        gpus: The node it is for: 1 CPU and so many GPUs; 4 unless given.
        cluster: The node as a YAML file instead.
        model: A saved model to go on from instead of the packaged one.
        seed: For schedulers that have one.
        parameters: Further arguments of the scheduler, e.g. ``energy_weight=0.0``.

    Raises:
        InvalidInputError: There is no such scheduler, or it does not take an argument.
    """
    from hybrid_scheduler.training.pretrained import load_pretrained

    node = ScenarioOptions(gpus=gpus, cluster=cluster).world(Config())
    scheduler = create_scheduler(name, seed, **parameters)
    if model is not None and not isinstance(scheduler, Learner):
        raise InvalidInputError(f"{name} does not learn, so it has no model; leave out model={str(model)!r}")
    if isinstance(scheduler, Learner):
        if model is None:
            load_pretrained(scheduler, node)
        else:
            scheduler.load_model(model)
            scheduler.check_devices(len(node.cluster.devices))
    return scheduler


def make_env(**arguments: Any) -> RaceEnv:
    """The race as a Gymnasium environment; the arguments are those of `RaceEnv` (`preset`, `load`, `tasks`, ...)."""
    from hybrid_scheduler.training.environment import RaceEnv

    return RaceEnv(**arguments)
