"""What the live race is made of: settings that can change while it runs, checked before they take effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.config import Config
from hybrid_scheduler.config.sections import objective_arguments
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.simulated_race import SimulatedRace
from hybrid_scheduler.live.start import MACHINE, NODES, SIMULATED, LiveStart
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.model.objective import BALANCED, Objective
from hybrid_scheduler.model.ranges import RATES, SPEEDS
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load, Rate, RecordedTasks, Scenario, ScenarioOptions
from hybrid_scheduler.scenario.live_source import LiveSource
from hybrid_scheduler.scenario.sources import Source
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class, scheduler_names
from hybrid_scheduler.workloads import KernelPreset

if TYPE_CHECKING:
    from hybrid_scheduler.live.machine import Machine
    from hybrid_scheduler.live.notifier import Log
    from hybrid_scheduler.live.race import Race

LOAD = 0.05
"""Default live load, where every scheduler keeps up."""
MACHINE_LOAD, NOMINAL_LOAD = 0.5, 0.1
"""The same on a real node, where there must be something to decide in a round of some seconds; where it is not
calibrated, by the nominal times of kernels, which few cores come near."""


@dataclass(frozen=True)
class Plan:
    """How the live race runs; `changed` gives another one.

    Attributes:
        config: Parameters of the schedulers, and what nobody else says.
        scenario: The tasks and the node.
        schedulers: Who races.
        speed: Simulated seconds per second of the clock.
        flat_out: As fast as the machine can.
        weights: What the learners care for, if somebody says.
        machine: Where the work is real; None: nodes are simulated.
    """

    config: Config
    scenario: Scenario
    schedulers: tuple[str, ...]
    speed: float
    flat_out: bool = False
    weights: Objective | None = None
    machine: Machine | None = None

    @classmethod
    def of(cls, start: LiveStart) -> Plan:
        """The plan the command line and the configuration ask for.

        Raises:
            InvalidInputError: Something in them is wrong.
        """
        config = start.config
        real = _is_real(start)
        asked = ScenarioOptions(
            preset=_kernels(start) if real else start.preset,
            trace=start.trace,
            format=start.format,
            rate=start.rate,
            load=start.load,
            seed=start.seed,
            cluster=start.cluster,
            estimates=None if start.trace is None else "nominal",
        )
        scenario = asked.scenario(config)
        usual = LOAD
        if real:
            usual = MACHINE_LOAD if isinstance(scenario.world.physics.cost, CalibratedCost) else NOMINAL_LOAD
        arrivals = asked.arrivals(config) or Load(usual)
        scenario = replace(scenario, arrivals=arrivals, num_tasks=None)  # it has no end
        if not real:
            speed = config.simulation.speed if start.speed is None else start.speed
            return cls(config, scenario, _available(start.schedulers), speed)
        return cls._real(start, scenario)

    @classmethod
    def _real(cls, start: LiveStart, scenario: Scenario) -> Plan:
        """The plan of a race on this machine: a node that is described must be this one."""
        from hybrid_scheduler.live.machine import Machine

        described = start.cluster is not None or start.config.cluster.devices is not None
        cluster = scenario.world.cluster
        machine = Machine.find(int((~cluster.is_gpu).sum()) if start.lanes is None and described else start.lanes)
        if described:
            machine.check_cluster(cluster)
        else:
            scenario = replace(scenario, world=World(machine.cluster, scenario.world.physics))
        return cls(start.config, scenario, _available(start.schedulers, scenario.world), 1.0, machine=machine)

    @property
    def world(self) -> World:
        """The devices and how they behave."""
        return self.scenario.world

    @property
    def seed(self) -> int:
        """Seed of tasks, noise and schedulers."""
        return self.scenario.seed

    @property
    def preset(self) -> str | None:
        """The preset tasks are drawn from; None when they come from a trace."""
        return self.scenario.preset

    @property
    def trace(self) -> Path | None:
        """The file tasks come from; None when they are drawn."""
        source = self.scenario.source
        return Path(source.name) if isinstance(source, RecordedTasks) else None

    @property
    def rate(self) -> float:
        """Tasks per simulated second."""
        rate = self.scenario.rate
        assert rate is not None  # arrivals are always given here
        return rate

    @property
    def load(self) -> float:
        """Arrivals as a share of what the node can take."""
        return self.rate / self.scenario.capacity

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
            "weights": self.objective.to_json(),
            "energy_weight": self.objective.energy,
            "node": SIMULATED if self.machine is None else MACHINE,
            "devices": list(self.world.cluster.names),
        }

    @property
    def objective(self) -> Objective:
        """What the learners care for."""
        return self.weights or self.config.simulation.weights or BALANCED

    def source(self, now: float) -> LiveSource:
        """A fresh stream of tasks from now on."""
        return self.scenario.stream(now)

    def build(self, name: str) -> Scheduler:
        """One of the schedulers."""
        return self.config.scheduler(name, self.seed, objective=self.weights)

    def race(self, schedulers: Mapping[str, Scheduler], log: Log) -> Race:
        """The race of these schedulers, which begins.

        Raises:
            LaneError: The system does not start the processes of a real node.
        """
        if self.machine is not None:
            return self.machine.race(schedulers, self.world, self.seed, log)
        return SimulatedRace(schedulers, self.world, seed=self.seed, speed=self.speed, flat_out=self.flat_out)

    def changed(self, traces: Path, **change: Any) -> Plan:
        """The plan with some settings changed; the load stays when tasks come from elsewhere.

        Raises:
            InvalidInputError: A setting is wrong; nothing has changed then.
            EngineError: There is no such trace.
        """
        self._refuse_other_time(change)
        plan, load = self, self.load
        if change.get("schedulers") is not None:
            plan = replace(plan, schedulers=_checked(tuple(change["schedulers"])))
        if change.get("preset") is not None or change.get("trace") is not None:
            plan = plan._at(Load(load), source=self._source(traces, change))
        if change.get("load") is not None:
            plan = plan._at(Load(float(change["load"])))
        if change.get("arrival_rate") is not None:
            plan = plan._at(Rate(change["arrival_rate"]))
        wanted = {key: change[key] for key in ("speed", "flat_out") if change.get(key) is not None}
        objective = Objective.chosen(change.get("weights"), change.get("energy_weight"))
        if objective is not None:
            wanted["weights"] = objective
        if "speed" in wanted and "flat_out" not in wanted:
            wanted["flat_out"] = False
        return replace(plan, **wanted)

    def __post_init__(self) -> None:
        self.source(0.0)  # refuses tasks that cannot go on without an end
        if not RATES.holds(self.rate):
            raise InvalidInputError(
                f"the arrival rate is {self.rate:g} (load {self.load:g} of {self.scenario.capacity:g} tasks per "
                f"second), but it must be {RATES}; choose another load or rate"
            )
        if not SPEEDS.holds(self.speed):
            raise InvalidInputError(f"speed is {self.speed:g}, but it must be {SPEEDS}")
        for name in self.schedulers:
            objective_arguments(name, self.objective)  # refuses weights that a scheduler knows nothing of
        if self.machine is not None:
            self._refuse_unreal()

    def _refuse_unreal(self) -> None:
        from hybrid_scheduler.live.machine import refuse_unreal, why_not

        refuse_unreal(self.scenario.source, self.seed)
        for name in self.schedulers:
            if why := why_not(name, self.world):
                raise InvalidInputError(f"{why}; leave it out of a race of real work")

    def _refuse_other_time(self, change: dict[str, Any]) -> None:
        """Real work takes the time it takes."""
        for name, only in (("speed", 1.0), ("flat_out", False)):
            if self.machine is not None and change.get(name) not in (None, only):
                raise InvalidInputError(
                    f"{name} is {change[name]}, but this race is real work, which takes the time it takes; "
                    "only a race on simulated nodes has a speed"
                )

    def _at(self, arrivals: Rate | Load, **change: Any) -> Plan:
        return replace(self, scenario=replace(self.scenario, arrivals=arrivals, **change))

    def _source(self, traces: Path, change: dict[str, Any]) -> Source:
        """Where tasks come from after a change."""
        if change.get("preset") is not None:
            return ScenarioOptions(preset=change["preset"]).preset_tasks(self.config, self.world)
        return RecordedTasks.read(_inside(traces, change["trace"]), self.seed)


def _inside(folder: Path, name: str) -> Path:
    """A file of the trace folder, and of nowhere else."""
    if Path(name).name != name or "\0" in name:
        raise InvalidInputError(f"trace {name!r} is a path, but it must be the name of a file in the trace folder")
    path = folder / name
    if not path.is_file():
        known = sorted(file.name for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
        listed = ", ".join(known[:20]) or "none yet; put files there"
        message = f"there is no trace {name!r} in the trace folder; known: {listed}"
        raise EngineError(message, code="unknown_trace", status=404)
    return path


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        scheduler_class(name)
        if names.count(name) > 1:
            raise InvalidInputError(f"scheduler {name!r} is named twice; leave one out")
    return names


def _is_real(start: LiveStart) -> bool:
    """Whether a start asks for real work."""
    if start.node not in NODES:
        raise InvalidInputError(f"node is {start.node!r}, but it must be one of {', '.join(NODES)}")
    if start.node == SIMULATED:
        if start.lanes is not None:
            raise InvalidInputError(f"lanes ({start.lanes}) are those of a real node; give node machine, or leave them")
        return False
    if start.speed is not None:
        raise InvalidInputError(
            f"speed is {start.speed:g}, but real work takes the time it takes; leave it out, or the node"
        )
    return True


def _kernels(start: LiveStart) -> str | None:
    """The preset of a race of real work: kernels, unless somebody says otherwise."""
    said = start.trace is not None or "preset" in start.config.workload.model_fields_set
    return KernelPreset.name if start.preset is None and not said else start.preset


def _available(names: tuple[str, ...] | None, real: World | None = None) -> tuple[str, ...]:
    """The schedulers to race: as asked, or the defaults and what other packages bring, as far as they are available.

    Args:
        names: As asked.
        real: The node where the work is real: who cannot race there is left out of the defaults.
    """
    if names is not None:
        return _checked(names)
    brought = [n for n in scheduler_names() if not scheduler_class(n).__module__.startswith("hybrid_scheduler.")]
    available = []
    for name in (*(name for name in DEFAULT_SCHEDULERS if name in scheduler_names()), *brought):
        try:
            create_scheduler(name)
        except MissingExtraError:
            continue
        if real is not None:
            from hybrid_scheduler.live.machine import why_not

            if why_not(name, real):
                continue
        available.append(name)
    return tuple(available)
