"""`compare`: one batch race of schedulers, the same for Python and for the command line."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybrid_scheduler.api.result import CompareResult
from hybrid_scheduler.api.start import Start, prepare
from hybrid_scheduler.config import Config, load_config
from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError, UnknownNameError
from hybrid_scheduler.model.objective import Objective, Weights
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.scenario import Scenario, ScenarioOptions
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS
from hybrid_scheduler.schedulers.registry import scheduler_names

Schedulers = str | Mapping[str, str | Scheduler] | Iterable[str | Scheduler]
"""Names (`"mct,oracle"` too), objects, or names of your own for them."""
Progress = Callable[[str, int], None]
OPTIONS = frozenset(field.name for field in fields(ScenarioOptions))


@dataclass(frozen=True)
class Contest:
    """A comparison that is ready to run, once.

    Attributes:
        scenario: The world and its tasks.
        schedulers: The contestants by name.
        start: How those learners start that were given by name.
        named: The contestants that were given by name.
        absent: Remarks on those of the usual schedulers that are not to be had here.
    """

    scenario: Scenario
    schedulers: Mapping[str, Scheduler]
    start: Start
    named: frozenset[str]
    absent: tuple[str, ...] = ()

    def run(self, progress: Progress | None = None, *, keep_outcomes: bool = True) -> CompareResult:
        """Bring the learners to their start, and race.

        Args:
            progress: Told now and then how many decisions each scheduler has made.
            keep_outcomes: Whether the result keeps what became of every task.

        Raises:
            InvalidInputError: Something does not go together.
            SchedulerError: A scheduler failed; the message names it.
        """
        scenario, outcomes = self.scenario, dict[str, OutcomeBatch]()
        comparison = Comparison(
            scenario.batch(),
            self.schedulers,
            scenario.world,
            scenario.seed,
            scenario.isolated,
            scenario.warmup,
            scenario.facts(),
        )
        by_name = {name: scheduler for name, scheduler in self.schedulers.items() if name in self.named}
        remarks = prepare(by_name, self.start, scenario, progress)
        race = comparison.run(progress, outcomes.__setitem__ if keep_outcomes else None)
        return CompareResult(scenario, race, (*scenario.notes, *self.absent, *remarks), outcomes)


def compare(
    schedulers: Schedulers | None = None,
    *,
    scenario: Scenario | None = None,
    weights: Weights | None = None,
    energy_weight: float | None = None,
    train_tasks: int | None = None,
    model: str | Path | Iterable[str | Path] | None = None,
    config: str | Path | Config | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> CompareResult:
    """Race schedulers on one stream of tasks, each on its own copy of the simulated node.

    The keywords are the options of `hms compare`; no file is read unless `config` names one.

    Args:
        schedulers: Registered names, scheduler objects (raced as copies, with what they have learned, under the name of
            their class in snake case), or a mapping from names of your own to either. The usual ones unless given.
        scenario: The world and its tasks, instead of the options that describe them.
        weights: What the learners care for: ``{"time": 0.6, "energy": 0.2, "money": 0.2}`` or the same as text,
            ``"time=0.6,energy=0.2,money=0.2"``; not negative, scaled to sum 1.
        energy_weight: The older way: 0 time only, 1 energy only.
        train_tasks: Train learners that are given by name on so many tasks of the same kind and another seed first,
            forests from nothing, the agent from its packaged network on; 0 starts them cold. By default they go on
            from the packaged models, where those fit the node.
        model: Saved models to load instead, one or several.
        config: A `config.yaml` with defaults; the environment and `.env` are then read too.
        progress: Told now and then how many decisions each scheduler has made.
        options: `preset`, `trace`, `format`, `table`, `tasks`, `rate`, `load`, `size_range`, `intensity_range`,
            `memory_range`, `dependency_prob`, `max_dependencies`, `estimates`, `gpus`, `cpus`, `cluster`, `speedup`,
            `split`, `cost`, `memory_policy`, `noise`, `seed`, `isolated`, `warmup`: see `ScenarioOptions`.

    Returns:
        The figures of every scheduler; a table on a terminal and in a notebook.

    Raises:
        InvalidInputError: An option breaks its rule, or does not go with the others.
        SchedulerError: A scheduler failed; the message names it.
    """
    contest = contest_of(
        schedulers,
        scenario=scenario,
        weights=weights,
        energy_weight=energy_weight,
        train_tasks=train_tasks,
        model=model,
        config=config,
        **options,
    )
    return contest.run(progress)


def contest_of(
    schedulers: Schedulers | None = None,
    *,
    scenario: Scenario | None = None,
    weights: Weights | None = None,
    energy_weight: float | None = None,
    train_tasks: int | None = None,
    model: str | Path | Iterable[str | Path] | None = None,
    config: str | Path | Config | None = None,
    **options: Any,
) -> Contest:
    """What `compare` runs, checked and ready; the arguments are the same."""
    for name in options:
        if name not in OPTIONS:
            raise UnknownNameError("option of compare", name, sorted(OPTIONS))
    settings = config if isinstance(config, Config) else Config() if config is None else load_config(Path(config))
    if scenario is None:
        scenario = ScenarioOptions(**options).scenario(settings)
    elif options:
        raise InvalidInputError(f"scenario and {', '.join(sorted(options))} both describe the tasks; leave one out")
    files = () if model is None else (model,) if isinstance(model, str | Path) else tuple(model)
    start = Start(tuple(map(Path, files)), train_tasks)
    contestants = contestants_of(schedulers, settings, scenario.seed, Objective.chosen(weights, energy_weight))
    return Contest(scenario, contestants.schedulers, start, contestants.named, contestants.absent)


@dataclass(frozen=True)
class Contestants:
    """Who takes part, ready.

    Attributes:
        schedulers: By name, in the order given.
        named: Those that were given by name.
        absent: Remarks on those of the usual ones that are not to be had here.
    """

    schedulers: Mapping[str, Scheduler]
    named: frozenset[str]
    absent: tuple[str, ...]


def contestants_of(
    schedulers: Schedulers | None, settings: Config, seed: int, objective: Objective | None
) -> Contestants:
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
            contestants[name] = settings.scheduler(wanted, seed, objective=objective)
        except MissingExtraError as error:
            if schedulers is not None:
                raise
            absent.append(f"{name} is left out: {error}")
            continue
        named.add(name)
    return Contestants(contestants, frozenset(named), tuple(absent))


def _wanted(schedulers: Schedulers | None) -> dict[str, str | Scheduler]:
    """Who races, by the name it races under, in the order given."""
    known = scheduler_names()
    if schedulers is None:
        return {name: name for name in DEFAULT_SCHEDULERS if name in known}
    if isinstance(schedulers, Mapping):
        return dict(schedulers)
    given = [name.strip() for name in schedulers.split(",")] if isinstance(schedulers, str) else list(schedulers)
    if not any(given):
        raise InvalidInputError(f"schedulers names nobody; known: {', '.join(known) or 'none'}")
    wanted: dict[str, str | Scheduler] = {}
    for scheduler in given:
        name = scheduler if isinstance(scheduler, str) else _snake_case(type(scheduler).__name__)
        if name in wanted:
            raise InvalidInputError(
                f"schedulers names {name!r} twice; leave one out, or give each a name of its own: {{'name': scheduler}}"
            )
        wanted[name] = scheduler
    return wanted


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
