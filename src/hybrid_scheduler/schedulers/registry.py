"""Schedulers by name, found through entry points: built-in ones and other people's alike."""

from __future__ import annotations

import inspect
from typing import Any

from hybrid_scheduler.model.errors import UnknownNameError
from hybrid_scheduler.model.registered import load_registered, registered
from hybrid_scheduler.schedulers.base import Scheduler

GROUP = "hybrid_scheduler.schedulers"


def scheduler_names() -> list[str]:
    """The names of all registered schedulers, sorted. Loads none of them."""
    return sorted(registered(GROUP))


def scheduler_class(name: str) -> type[Scheduler]:
    """The class registered under a name.

    Raises:
        UnknownNameError: Nothing is registered under it; the message offers the nearest name.
        InvalidInputError: What is registered is not a scheduler, or cannot be imported.
    """
    return load_registered(GROUP, name, "scheduler", Scheduler)


def create_scheduler(name: str, seed: int = 0, **parameters: Any) -> Scheduler:
    """Build a registered scheduler; `seed` is passed on to those that have such an argument.

    Raises:
        UnknownNameError: Unknown scheduler or unknown parameter.
    """
    scheduler = scheduler_class(name)
    accepted = inspect.signature(scheduler).parameters
    for key in parameters:
        if key not in accepted:
            raise UnknownNameError(f"parameter of scheduler {name!r}:", key, accepted)
    if "seed" in accepted:
        parameters.setdefault("seed", seed)
    return scheduler(**parameters)
