"""`run`: the schedulers of a race place real kernels on this machine or a cluster, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from hybrid_scheduler.api.compare import Contest, chosen_config
from hybrid_scheduler.api.contestants import Schedulers, contestants_of
from hybrid_scheduler.api.result import CompareResult
from hybrid_scheduler.api.start import Models, Progress, Start
from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.compare import (
    Comparison,
    ComparisonResult,
    SchedulerResult,
    gaps,
    learned,
    named_contestant,
)
from hybrid_scheduler.hardware.machine import usable_cores
from hybrid_scheduler.hardware.nodes.find import MACHINE, check_node, open_lanes
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.objective import Weights
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Rate, RecordedTasks, Scenario, ScenarioOptions
from hybrid_scheduler.scenario.real_race import (
    LIMIT_SECONDS,
    RealRace,
    from_zero,
    kernel_works,
    refuse_contestant,
)
from hybrid_scheduler.scenario.sources import observed_rate
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS
from hybrid_scheduler.schedulers.registry import scheduler_class
from hybrid_scheduler.workloads import KernelPreset

OPTIONS = ("preset", "trace", "format", "tasks", "rate", "load", "seed", "warmup")
"""What may be said of the tasks, as for `compare`."""
DEFAULT_TASKS = 200
TRAIN_TASKS = 1000
"""Tasks in the calibrated twin that learners are trained on unless somebody says otherwise."""


@dataclass(frozen=True)
class RealContest(Contest):
    """A race for real that is ready to run, once.

    Attributes:
        scenario: The tasks; its world is the calibrated twin where there is one, else only the prices count.
        contestants: Who takes part.
        node: Where it runs (`open_lanes`).
        cpu_lanes: How many lanes share the cores; None: as the description says, else as `open_lanes` does.
        cluster: The file that describes the devices; None where nobody does.
        limit: Seconds after which a task counts as hung.
    """

    node: str
    cpu_lanes: int | None
    cluster: Path | None
    limit: float

    @property
    def calibrated(self) -> bool:
        """Whether the estimates are those of a calibration."""
        return _calibrated(self.scenario)

    def run(self, progress: Progress | None = None, *, keep_outcomes: bool = True) -> CompareResult:
        """Start the lanes, bring the learners to their start, race, and end the lanes, whatever happens.

        Args:
            progress: Told how many tasks of each scheduler are over.
            keep_outcomes: Whether the result keeps what became of every task.

        Raises:
            InvalidInputError: Something does not go together.
            LostLaneError: No lane comes up.
            SchedulerError: A scheduler failed; the message names it.
        """
        scenario, tasks = self.scenario, self._tasks()
        works = tuple(kernel_works(tasks, scenario.seed))
        for scheduler in self.schedulers.values():
            refuse_contestant(scheduler, scenario.world.physics)
        cpus = self.cpu_lanes
        if cpus is None and self.cluster is not None:
            cpus = sum(not gpu for gpu in scenario.world.cluster.is_gpu.tolist())
        outcomes: dict[str, OutcomeBatch] = {}
        with closing(open_lanes(self.node, cpus, warm_up=KernelsReady(works))) as opened:
            lanes = ReusedLanes(opened, None if self.cluster is None else scenario.world.cluster)
            world = World(lanes.cluster, scenario.world.physics)
            remarks = self.contestants.prepare(replace(scenario, world=world), progress)
            race = RealRace(tasks, works, lanes, world.physics, self.limit, scenario.seed)
            results, began = {}, perf_counter()
            for name, scheduler in self.schedulers.items():
                told = None if progress is None else (lambda done, name=name: progress(name, done))
                before = learned(scheduler)
                with named_contestant(name):
                    found = race.run(scheduler, told)
                if keep_outcomes:
                    outcomes[name] = found.outcomes
                learning = {key: count - before[key] for key, count in learned(scheduler).items()}
                metrics = summarise(found.outcomes, warmup=scenario.warmup)
                results[name] = SchedulerResult(
                    metrics, found.decision_us, learning, gaps(metrics, None), found.failures
                )
            seconds = perf_counter() - began
            facts = self._node_facts(lanes)
        comparison = Comparison(
            tasks, self.schedulers, world, scenario.seed, warmup=scenario.warmup, source=self._task_facts(tasks)
        )
        notes = (*scenario.notes, *remarks, *self._assumed(lanes, results))
        result = ComparisonResult(comparison, None, results, seconds, node=facts)
        return CompareResult(scenario, result, notes, outcomes)

    def _tasks(self) -> TaskBatch:
        scenario = self.scenario
        if scenario.arrivals is None and not isinstance(scenario.source, RecordedTasks):
            tasks = replace(scenario, arrivals=Rate(1.0)).batch()
            return tasks.with_arrivals(0.0 * tasks.arrival_time)
        return from_zero(scenario.batch())

    def _task_facts(self, tasks: TaskBatch) -> dict[str, object]:
        source = self.scenario.source
        origin: dict[str, object] = {"preset": self.scenario.preset}
        if isinstance(source, RecordedTasks):
            origin = {source.kind: source.name}
        rate = observed_rate(tasks)
        load = rate / self.scenario.capacity if self.calibrated and rate is not None else None
        return {**origin, "arrival_rate": rate, "load": load, **source.facts()}

    def _node_facts(self, lanes: ReusedLanes) -> dict[str, object]:
        devices = lanes.cluster.devices
        return {
            "node": self.node,
            "cores": usable_cores() if self.node == MACHINE else None,
            "accelerators": [each for each, d in zip(lanes.hardware, devices, strict=True) if d.kind == "gpu"],
            "lanes": [{"device": d.name, "hardware": each} for each, d in zip(lanes.hardware, devices, strict=True)],
            "times": "calibrated" if self.calibrated else "measured",
            "described_by": None if self.cluster is None else str(self.cluster),
            "limit_seconds": self.limit,
        }

    def _assumed(self, lanes: ReusedLanes, results: Mapping[str, SchedulerResult]) -> list[str]:
        pairs = zip(lanes.cluster.names, lanes.hardware, strict=True)
        notes = [f"for real on {', '.join(f'{name} ({hardware})' for name, hardware in pairs)}"]
        if not self.calibrated:
            notes.append(
                "estimates are what each scheduler's own run has measured so far; hms calibrate measures them before"
            )
        if self.cluster is None:
            notes.append("prices are the defaults; --cluster FILE gives yours")
        if any(result.metrics["energy"] is None for result in results.values()):
            notes.append("energy is unknown: this machine does not tell the joules of every lane")
        return notes


def run(
    schedulers: Schedulers | None = None,
    *,
    node: str = MACHINE,
    cpu_lanes: int | None = None,
    cluster: str | Path | None = None,
    limit: float = LIMIT_SECONDS,
    weights: Weights | None = None,
    energy_weight: float | None = None,
    train_tasks: int | None = None,
    model: Models | None = None,
    config: str | Path | Config | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> CompareResult:
    """Have schedulers place real kernels, one scheduler after the other on the same stream, replayed by the clock.

    The keywords are the options of `hms run`; no file is read unless `config` or `cluster` names one. Times are those
    of the machine: running it again gives other figures.

    Args:
        schedulers: As for `compare`; the usual ones that do without the truth unless given.
        node: `machine`, `ray` (a cluster that is started here) or `ray://HOST:PORT`.
        cpu_lanes: How many worker processes share the cores. By default as many as `cluster` describes; without it two,
            or one beside GPUs.
        cluster: A node file: watts and prices, and where it is calibrated the estimates, too.
        limit: Seconds after which a task counts as hung and its worker is replaced.
        weights: As for `compare`.
        energy_weight: As for `compare`.
        train_tasks: Train learners that are given by name in the calibrated twin first, on so many tasks of the same
            kind and another seed (1000 unless said); 0 starts them cold, as they do without a calibration.
        model: Saved models to load instead, one or several.
        config: A `config.yaml` with defaults; the environment and `.env` are then read too.
        progress: Told how many tasks of each scheduler are over.
        options: `preset` (`kernels` unless given), `trace`, `format`, `tasks` (200), `rate`, `load` (of the calibrated
            twin's capacity), `seed`, `warmup`: see `ScenarioOptions`. Tasks of a preset without rate and load arrive
            all at once, with a calibration at a load of 0.6.

    Returns:
        The figures of every scheduler; `to_json()["node"]` says what ran where.

    Raises:
        InvalidInputError: An option breaks its rule, does not go with the others, or a task is no kernel.
        SchedulerError: A scheduler failed; the message names it.
    """
    for name in options:
        if name not in OPTIONS:
            raise UnknownNameError("option of run", name, OPTIONS)
    contest = real_contest(
        schedulers,
        ScenarioOptions(cluster=cluster, **options),
        chosen_config(config),
        Start.chosen(model, train_tasks, weights, energy_weight, packaged=False),
        node=node,
        cpu_lanes=cpu_lanes,
        limit=limit,
    )
    return contest.run(progress)


def real_contest(
    schedulers: Schedulers | None,
    asked: ScenarioOptions,
    settings: Config,
    start: Start,
    *,
    node: str,
    cpu_lanes: int | None,
    limit: float,
) -> RealContest:
    """What `run` runs, checked and ready."""
    check_node(node)
    if not limit > 0.0:
        raise InvalidInputError(f"limit is {limit}, but it must be a number of seconds above 0")
    if asked.preset is None and asked.trace is None:
        asked = replace(asked, preset=KernelPreset.name)
    scenario = asked.scenario(settings, default_tasks=DEFAULT_TASKS)
    if not _calibrated(scenario):
        scenario = _without_twin(scenario, asked, settings, start.train_tasks)
    elif not start.models and start.train_tasks is None:
        start = replace(start, train_tasks=TRAIN_TASKS)
    wanted = _usual() if schedulers is None else schedulers
    contestants = contestants_of(wanted, settings, scenario.seed, start)
    cluster = None if asked.cluster is None else Path(asked.cluster)
    return RealContest(scenario, contestants, node, cpu_lanes, cluster, limit)


def _calibrated(scenario: Scenario) -> bool:
    return isinstance(scenario.world.physics.cost, CalibratedCost)


def _usual() -> list[str]:
    return [name for name in DEFAULT_SCHEDULERS if not scheduler_class(name).knows_truth]


def _without_twin(scenario: Scenario, asked: ScenarioOptions, settings: Config, train_tasks: int | None) -> Scenario:
    """Where nobody knows what the machine can do, a rate must be one of tasks per second, and nobody is trained.

    Raises:
        InvalidInputError: Something asks for more.
    """
    calibrate = "calibrate it (hms calibrate) and give the node as cluster"
    load = asked.load or (settings.workload.load if asked.rate is None else None)
    if load is not None:
        raise InvalidInputError(
            f"load is {load}, a share of the node's capacity, which nobody knows of this machine; {calibrate}, or give "
            "a rate in tasks per second"
        )
    if train_tasks:
        raise InvalidInputError(
            f"train_tasks is {train_tasks}, but learners are trained in the calibrated twin of a machine, and there is "
            f"none; {calibrate}"
        )
    said = asked.rate is not None or settings.workload.rate is not None
    return scenario if said or isinstance(scenario.source, RecordedTasks) else replace(scenario, arrivals=None)
