"""`compare`: one batch race of schedulers, the same for Python and for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybrid_scheduler.api.contestants import Contestants, Schedulers, contestants_of
from hybrid_scheduler.api.result import CompareResult
from hybrid_scheduler.api.start import Models, Progress, Start
from hybrid_scheduler.config import Config, load_config
from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.objective import Weights
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.scenario import Scenario, ScenarioOptions
from hybrid_scheduler.schedulers.base import Scheduler

OPTIONS = frozenset(field.name for field in fields(ScenarioOptions))


@dataclass(frozen=True)
class Contest:
    """A comparison that is ready to run, once.

    Attributes:
        scenario: The world and its tasks.
        contestants: Who takes part.
    """

    scenario: Scenario
    contestants: Contestants

    @property
    def schedulers(self) -> Mapping[str, Scheduler]:
        """The contestants by name."""
        return self.contestants.schedulers

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
        remarks = self.contestants.prepare(scenario, progress)
        race = comparison.run(progress, outcomes.__setitem__ if keep_outcomes else None)
        return CompareResult(scenario, race, (*scenario.notes, *remarks), outcomes)


def compare(
    schedulers: Schedulers | None = None,
    *,
    scenario: Scenario | None = None,
    weights: Weights | None = None,
    energy_weight: float | None = None,
    train_tasks: int | None = None,
    model: Models | None = None,
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
    for name in options:
        if name not in OPTIONS:
            raise UnknownNameError("option of compare", name, sorted(OPTIONS))
    settings = chosen_config(config)
    if scenario is None:
        scenario = ScenarioOptions(**options).scenario(settings)
    elif options:
        raise InvalidInputError(f"scenario and {', '.join(sorted(options))} both describe the tasks; leave one out")
    start = Start.chosen(model, train_tasks, weights, energy_weight)
    contestants = contestants_of(schedulers, settings, scenario.seed, start)
    return Contest(scenario, contestants).run(progress)


def chosen_config(config: str | Path | Config | None) -> Config:
    """The configuration as a caller says it: none, or a file and with it the environment, or one that has been read.

    Raises:
        InvalidInputError: Something is wrong with the file or the environment.
    """
    if isinstance(config, Config):
        return config
    return Config() if config is None else load_config(Path(config))
