"""What the live race is made of: settings that can change while it runs, checked before they take effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.source import LiveSource
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.model.ranges import RATES, SPEEDS
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class, scheduler_names
from hybrid_scheduler.schedulers.the_six import THE_SIX
from hybrid_scheduler.server.engine_port import EngineError
from hybrid_scheduler.server.live_start import LiveStart
from hybrid_scheduler.workloads.capacity import capacity, capacity_of_tasks
from hybrid_scheduler.workloads.csv_trace import read_csv
from hybrid_scheduler.workloads.presets import find_preset

LOAD = 0.05
"""Default live load, where every scheduler keeps up."""
ENERGY_WEIGHT = 0.5


@dataclass(frozen=True)
class Plan:
    """How the live race runs; `changed` gives another one."""

    config: Config
    cluster: ClusterSpec
    physics: Physics
    seed: int
    schedulers: tuple[str, ...]
    preset: str | None
    trace: Path | None
    tasks: TaskBatch | None
    capacity: float
    rate: float
    speed: float
    flat_out: bool = False
    energy_weight: float | None = None

    @classmethod
    def of(cls, start: LiveStart) -> Plan:
        """The plan the command line and the configuration ask for.

        Raises:
            InvalidInputError: Something in them is wrong.
        """
        config = start.config
        cluster, physics = config.cluster_spec(), config.physics.build()
        preset = None if start.trace else start.preset or config.workload.preset
        tasks = None if start.trace is None else _trace(start.trace)
        most = _capacity(preset, tasks, cluster, physics)
        rate = start.rate or (config.workload.rate if start.load is None else None)
        load = LOAD if config.workload.load is None else config.workload.load
        return cls(
            config,
            cluster,
            physics,
            config.simulation.seed if start.seed is None else start.seed,
            _available(start.schedulers),
            preset,
            start.trace,
            tasks,
            most,
            rate or most * (load if start.load is None else start.load),
            config.simulation.speed if start.speed is None else start.speed,
        )

    @property
    def load(self) -> float:
        """Arrivals as a share of what the node can take."""
        return self.rate / self.capacity

    def document(self) -> dict[str, Any]:
        """As in `LiveSettings`."""
        return {
            "preset": self.preset,
            "trace": None if self.trace is None else self.trace.name,
            "arrival_rate": self.rate,
            "load": self.load,
            "speed": self.speed,
            "flat_out": self.flat_out,
            "schedulers": list(self.schedulers),
            "energy_weight": self.weight,
        }

    @property
    def weight(self) -> float:
        """What the learners care for: 0 time only, 1 energy only."""
        return ENERGY_WEIGHT if self.energy_weight is None else self.energy_weight

    def source(self, now: float) -> LiveSource:
        """A fresh stream of tasks from now on."""
        return LiveSource(self.preset or "", self.seed, self.rate, start=now, trace=self.tasks)

    def build(self, name: str) -> Scheduler:
        """One of the schedulers."""
        return self.config.scheduler(name, self.seed, energy_weight=self.energy_weight)

    def changed(self, traces: Path, **change: Any) -> Plan:
        """The plan with some settings changed; the load stays when tasks come from elsewhere.

        Raises:
            InvalidInputError: A setting is wrong; nothing has changed then.
            EngineError: There is no such trace.
        """
        plan, load = self, self.load
        if change.get("schedulers") is not None:
            plan = replace(plan, schedulers=_checked(tuple(change["schedulers"])))
        if change.get("preset") is not None or change.get("trace") is not None:
            plan = plan._from_elsewhere(traces, change)
            plan = replace(plan, rate=load * plan.capacity)
        if change.get("load") is not None:
            plan = replace(plan, rate=float(change["load"]) * plan.capacity)
        kept = {"arrival_rate": "rate", "speed": "speed", "flat_out": "flat_out", "energy_weight": "energy_weight"}
        wanted = {field: change[key] for key, field in kept.items() if change.get(key) is not None}
        if "speed" in wanted and "flat_out" not in wanted:
            wanted["flat_out"] = False
        return replace(plan, **wanted)

    def __post_init__(self) -> None:
        if not RATES.holds(self.rate):
            raise InvalidInputError(
                f"the arrival rate is {self.rate:g} (load {self.load:g} of {self.capacity:g} tasks per second), but it "
                f"must be {RATES}; choose another load or rate"
            )
        if not SPEEDS.holds(self.speed):
            raise InvalidInputError(f"speed is {self.speed:g}, but it must be {SPEEDS}")

    def _from_elsewhere(self, traces: Path, change: dict[str, Any]) -> Plan:
        if change.get("preset") is not None:
            find_preset(change["preset"])
            preset, path, tasks = change["preset"], None, None
        else:
            preset, path = None, _inside(traces, change["trace"])
            tasks = _trace(path)
        most = _capacity(preset, tasks, self.cluster, self.physics)
        return replace(self, preset=preset, trace=path, tasks=tasks, capacity=most)


def _capacity(preset: str | None, tasks: TaskBatch | None, cluster: ClusterSpec, physics: Physics) -> float:
    if tasks is not None:
        return capacity_of_tasks(tasks, cluster, physics.cost)
    return capacity(preset or "", cluster, physics.cost)


def _trace(path: Path) -> TaskBatch:
    tasks = read_csv(path).tasks
    LiveSource("", 0, 1.0, trace=tasks)  # checks it
    return tasks


def _inside(folder: Path, name: str) -> Path:
    """A file of the trace folder, and of nowhere else."""
    if Path(name).name != name or "\0" in name:
        raise InvalidInputError(f"trace {name!r} is a path, but it must be the name of a file in the trace folder")
    path = folder / name
    if not path.is_file():
        known = sorted(each.name for each in folder.glob("*.csv")) if folder.is_dir() else []
        listed = ", ".join(known[:20]) or "none yet; put CSV files there"
        message = f"there is no trace {name!r} in the trace folder; known: {listed}"
        raise EngineError(message, code="unknown_trace", status=404)
    return path


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        scheduler_class(name)
        if names.count(name) > 1:
            raise InvalidInputError(f"scheduler {name!r} is named twice; leave one out")
    return names


def _available(names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Who races: as asked, or the six and what other packages bring, as far as they can be had here."""
    if names is not None:
        return _checked(names)
    brought = [n for n in scheduler_names() if not scheduler_class(n).__module__.startswith("hybrid_scheduler.")]
    found = []
    for name in (*(name for name in THE_SIX if name in scheduler_names()), *brought):
        try:
            create_scheduler(name)
        except MissingExtraError:
            continue
        found.append(name)
    return tuple(found)
