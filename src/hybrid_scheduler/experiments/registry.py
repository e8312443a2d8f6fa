"""Experiments by name: every file of this package that defines one."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from hybrid_scheduler import experiments
from hybrid_scheduler.experiments.base import Experiment
from hybrid_scheduler.model.errors import UnknownNameError


@cache
def experiment_classes() -> dict[str, type[Experiment]]:
    """All experiments by name."""
    classes: dict[str, type[Experiment]] = {}
    for info in iter_modules(experiments.__path__, f"{experiments.__name__}."):
        module = import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Experiment) and hasattr(value, "name"):
                classes[value.name] = value
    return classes


def find_experiment(name: str) -> type[Experiment]:
    """The experiment of a name.

    Raises:
        UnknownNameError: There is none; the message offers the nearest name.
    """
    known = experiment_classes()
    if name not in known:
        raise UnknownNameError("experiment", name, known)
    return known[name]
