"""Who takes part in a race, as a caller names them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hybrid_scheduler.api.start import Progress, Start, prepare
from hybrid_scheduler.config import Config
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS
from hybrid_scheduler.schedulers.registry import scheduler_names

Named = Mapping[str, str | Scheduler]
Schedulers = str | Scheduler | Named | Iterable[str | Scheduler | Named]
"""Names (`"mct,oracle"` too), objects, or names of your own for them."""


@dataclass(frozen=True)
class Contestants:
    """Who takes part.

    Attributes:
        schedulers: By name, in the order given.
        named: Those that were given by name.
        absent: Remarks on those of the usual ones that are not to be had here.
        start: How those learners start that were given by name.
    """

    schedulers: Mapping[str, Scheduler]
    named: frozenset[str]
    absent: tuple[str, ...]
    start: Start

    def prepare(self, scenario: Scenario, progress: Progress | None = None) -> list[str]:
        """Bring the learners to their start; returns what the user should know.

        Raises:
            InvalidInputError: A model fits no learner in the race, or there is nothing to train on.
        """
        by_name = {name: scheduler for name, scheduler in self.schedulers.items() if name in self.named}
        return [*self.absent, *prepare(by_name, self.start, scenario, progress)]


def contestants_of(schedulers: Schedulers | None, settings: Config, seed: int, start: Start) -> Contestants:
    """Schedulers as a caller names them: those by name are created, objects are copied.

    Raises:
        InvalidInputError: A name is unknown or comes twice, or a scheduler does not take what it is given.
    """
    absent: list[str] = []
    contestants: dict[str, Scheduler] = {}
    named = set()
    for name, wanted in _wanted(schedulers).items():
        if isinstance(wanted, Scheduler):
            contestants[name] = copy.deepcopy(wanted)
            continue
        try:
            contestants[name] = settings.scheduler(wanted, seed, objective=start.objective)
        except MissingExtraError as error:
            if schedulers is not None:
                raise
            absent.append(f"{name} is left out: {error}")
            continue
        named.add(name)
    return Contestants(contestants, frozenset(named), tuple(absent), start)


def _wanted(schedulers: Schedulers | None) -> dict[str, str | Scheduler]:
    """Who races, by the name it races under, in the order given."""
    known = scheduler_names()
    if schedulers is None:
        return {name: name for name in DEFAULT_SCHEDULERS if name in known}
    if isinstance(schedulers, str):
        schedulers = [name.strip() for name in schedulers.split(",")]
    pairs = [pair for each in _listed(schedulers) for pair in _named(each)]
    if not any(name for name, _ in pairs):
        raise InvalidInputError(f"schedulers names nobody; known: {', '.join(known) or 'none'}")
    wanted: dict[str, str | Scheduler] = {}
    for name, scheduler in pairs:
        if name in wanted:
            raise InvalidInputError(
                f"schedulers names {name!r} twice; leave one out, or give each a name of its own: {{'name': scheduler}}"
            )
        wanted[name] = scheduler
    return wanted


def _listed(schedulers: object) -> Iterable[object]:
    if isinstance(schedulers, Iterable) and not isinstance(schedulers, Mapping):
        return schedulers
    return [schedulers]


def _named(wanted: object) -> Iterable[tuple[str, str | Scheduler]]:
    """The names under which one thing of the list races."""
    if isinstance(wanted, str):
        yield wanted, wanted
    elif isinstance(wanted, Scheduler):
        yield _snake_case(type(wanted).__name__), wanted
    elif isinstance(wanted, Mapping) and all(isinstance(each, str | Scheduler) for each in wanted.values()):
        yield from ((str(name), each) for name, each in wanted.items())
    else:
        raise InvalidInputError(
            f"schedulers holds {wanted!r}; a scheduler is given by its name, as an object, or as {{'name': scheduler}}"
        )


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
