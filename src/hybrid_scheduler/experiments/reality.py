"""`reality`: the same kernels for real and in the machine's calibrated twin."""

from __future__ import annotations

import copy
import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np

from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.base import Experiment, Record, Unit
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.hardware.calibration import calibrated_lanes, check_sizes
from hybrid_scheduler.hardware.calibration_file import write_machine
from hybrid_scheduler.hardware.nodes.find import MACHINE, open_lanes
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.machine import find_slots
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.metrics.base import Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load, Scenario, ScenarioOptions
from hybrid_scheduler.scenario.at_work import calibrate_machine
from hybrid_scheduler.scenario.real_race import RealRace, from_zero, kernel_works
from hybrid_scheduler.scenario.sources import KernelTasks
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import KernelPreset
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

RIVALS = ("fcfs", "mct", "sjf", "hybrid_ml", "hybrid_queue", "rl_agent")
CONSTANT = ("cpu_only", "gpu_only")
"""Take part where there is a GPU; elsewhere they are the same policy."""
PREDICTED, ERROR = "predicted_{}", "{}_error"
JUDGED = ("makespan", "avg_response", "energy")
TOLERANCE = 0.10
"""An error of the twin that people accept."""
CALIBRATION, NODE = "calibration", "node.yaml"
SIZES = (100, 200, 500, 1000, 2000)
LOAD = 0.6


@dataclass(frozen=True, kw_only=True)
class Reality(Experiment):
    """The same stream of kernels through the same schedulers twice: on this machine, and in its calibrated twin.

    The machine is calibrated first, unless `cluster` names a node that is (`hms calibrate`). Kernels of every kind and
    of sizes between those measured arrive at a share of the twin's capacity. Learners are trained in the twin on tasks
    of another seed, and begin alike in both worlds. For real everybody has `rounds` runs per seed, in an order that is
    another in every round and seed, so that a machine that drifts hits all alike; their figures are averaged. The twin
    is asked `draws` times, each time with other noise: one draw of it moves a mean response by a tenth. As on the
    machine, nobody is taught by an oracle there.

    Real times are the machine's, so the same unit gives another record the next time (`repeatable`).

    Attributes:
        cluster: A calibrated node that is this machine; None: it is calibrated first.
        cpu_lanes: How many lanes share the cores, where no node says; None as `find_lanes` has it.
        kinds: The kernels, where they are calibrated here.
        sizes: The sizes that are measured, where they are calibrated here.
        load: Share of the twin's capacity.
        rounds: How often everybody runs for real with each seed.
        draws: How often everybody runs in the twin with each seed.
    """

    name: ClassVar[str] = "reality"
    question: ClassVar[str] = "Does the calibrated twin of this machine foretell what schedulers do on it for real?"
    schedulers: ClassVar[tuple[str, ...]] = (*RIVALS, *CONSTANT)
    subjects: ClassVar[tuple[str, ...]] = ("hybrid_queue",)
    compared: ClassVar[tuple[str, ...]] = ("avg_response", "makespan")
    shown: ClassVar[tuple[str, ...]] = (
        "avg_response",
        PREDICTED.format("avg_response"),
        ERROR.format("avg_response"),
        ERROR.format("makespan"),
        ERROR.format("energy"),
    )
    plots: ClassVar[tuple[str, ...]] = ("reality",)
    default_seeds: ClassVar[int] = 5
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}
    alone: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False

    tasks: int = 300
    train_tasks: int = 1000
    cluster: Path | None = None
    cpu_lanes: int | None = None
    kinds: tuple[str, ...] = tuple(KERNEL_KINDS)
    sizes: tuple[int, ...] = SIZES
    load: float = LOAD
    rounds: int = 2
    draws: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.load < 1.0:
            raise InvalidInputError(f"load is {self.load:g}, but it must be above 0 and below 1, where queues end")
        for key, count in {"rounds": self.rounds, "draws": self.draws}.items():
            if count < 1:
                raise InvalidInputError(f"{key} is {count}, but it must be at least 1")
        check_sizes(self.sizes)
        if self.cluster is not None and self.cpu_lanes is not None:
            raise InvalidInputError(
                f"cpu_lanes ({self.cpu_lanes}) and cluster ({self.cluster}) both say how many there are; leave one out"
            )
        world = self.world
        if self.cluster is None:
            slots = find_slots(self.cpu_lanes, for_pytorch=True)
            world = World(ClusterSpec(tuple(slot.device for slot in slots)), world.physics)
        else:
            world = calibrated_world(self.cluster)
        constant = CONSTANT if world.cluster.is_gpu.any() else ()
        # Which devices there are, and so who takes part, is a fact of the machine.
        for key, value in {"world": world, "schedulers": (*RIVALS, *constant)}.items():
            object.__setattr__(self, key, value)

    def prepare(self, seed: int, folder: Path) -> None:
        """Calibrate, once for all seeds."""
        node = folder.parent / CALIBRATION / NODE
        if self.cluster is not None or node.is_file():
            return
        with calibrated_lanes(self.kinds, self.sizes, self.cpu_lanes, seed) as calibration:
            machine = calibrate_machine(calibration)
        beside = node.parent.with_suffix(".unfinished")
        shutil.rmtree(beside, ignore_errors=True)
        write_machine(beside / NODE, machine)
        beside.replace(node.parent)

    def run(self, unit: Unit) -> Record:
        """One stream, in both worlds."""
        world = calibrated_world(self.cluster or unit.prepared.parent / CALIBRATION / NODE)
        scenario = self.scenario(unit.seed, world)
        trained = {name: self._trained(name, scenario) for name in self.schedulers}
        tasks = from_zero(scenario.batch())
        races = [Race(tasks, world, seed=seed) for seed in noise_seeds(unit.seed, self.draws)]
        predicted = {
            name: [summarise(race.run(copy.deepcopy(scheduler), labels=False)) for race in races]
            for name, scheduler in trained.items()
        }
        real, decision_us = self._real(unit, scenario, trained)
        figures: dict[str, dict[str, float]] = {name: _figures(real[name], predicted[name]) for name in self.schedulers}
        figures[CALIBRATION] = _calibration(world, scenario)
        return Record(unit.seed, figures, clock=decision_us)

    def scenario(self, seed: int, world: World) -> Scenario:
        """The stream, of what was measured."""
        cost = world.physics.cost
        source = KernelTasks.known_to(KernelPreset(), cost)
        return Scenario(source, world, self.tasks, Load(self.load), seed)

    def configuration(self) -> dict[str, object]:
        """The devices as they are described, and what was asked for."""
        measured: dict[str, object] = {"kinds": list(self.kinds), "sizes": list(self.sizes)}
        options: dict[str, object] = {"load": self.load}
        if self.cluster is not None:
            options["cluster"] = str(self.cluster)
        elif self.cpu_lanes is not None:
            options["lanes"] = self.cpu_lanes
        settings = {"rounds": self.rounds, "draws": self.draws, **({} if self.cluster is not None else measured)}
        return {**super().configuration(), "options": options, "settings": settings}

    def facts(self) -> dict[str, object]:
        """How learners start, and what of it can be repeated."""
        return {
            "start": f"learners are trained in the twin on {self.train_tasks} tasks of another seed",
            "load": self.load,
            "repeatable": self.repeatable,
            "measured": "figures without 'predicted' are by the clock of this machine and differ from run to run",
        }

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """Errors of the twin, and whether it ranks the schedulers as the machine does."""
        (point,) = points
        errors = {name: _errors(point, name) for name in self.schedulers}
        metric = "avg_response"
        estimates = point.estimates
        real = {name: estimates[name][metric] for name in self.schedulers}
        twin = {name: estimates[name][PREDICTED.format(metric)] for name in self.schedulers}
        tau, strict = kendall_tau(real, twin), kendall_tau(real, twin, overlapping_agree=False)
        return {
            "errors": errors,
            "kendall_tau": tau,
            "kendall_tau_strict": strict,
            "remarks": _remarks(errors, tau, strict),
        }

    def write_files(self, records: Sequence[Record], folder: Path) -> list[Path]:
        """The calibration beside the results, where it was made for them."""
        made = folder / "parts" / CALIBRATION
        if self.cluster is not None or not made.is_dir():
            return []
        return [Path(shutil.copyfile(path, folder / path.name)) for path in sorted(made.iterdir())]

    def _trained(self, name: str, scenario: Scenario) -> Scheduler:
        scheduler = self.create(name, scenario.seed)
        if self.train_tasks:
            train_scheduler(scheduler, scenario.training(self.train_tasks))
        return scheduler

    def _real(
        self, unit: Unit, scenario: Scenario, trained: Mapping[str, Scheduler]
    ) -> tuple[dict[str, list[Mapping[str, Value]]], dict[str, dict[str, float]]]:
        """The metrics of everybody's rounds, and the time of a decision."""
        world, tasks = scenario.world, from_zero(scenario.batch())
        works = tuple(kernel_works(tasks, unit.seed))
        cpus = int((~world.cluster.is_gpu).sum())
        found: dict[str, list[Mapping[str, Value]]] = {name: [] for name in trained}
        thought: dict[str, list[float]] = {name: [] for name in trained}
        with closing(open_lanes(MACHINE, cpus, warm_up=KernelsReady(works))) as opened:
            race = RealRace(tasks, works, ReusedLanes(opened, world.cluster), world.physics, seed=unit.seed)
            for turn in range(self.rounds):
                for name in in_turn(tuple(trained), unit.seed, turn):
                    run = race.run(copy.deepcopy(trained[name]))
                    found[name].append(summarise(run.outcomes))
                    thought[name].append(run.decision_us)
                    unit.say(f"seed {unit.seed}, round {turn + 1} of {self.rounds}: {name}")
        return found, {name: {"decision_us": float(np.mean(values))} for name, values in thought.items()}


def calibrated_world(path: Path) -> World:
    """The world of a node file.

    Raises:
        InvalidInputError: The node is not calibrated.
    """
    world = ScenarioOptions(cluster=path).world(Config())
    if not isinstance(world.physics.cost, CalibratedCost):
        raise InvalidInputError(
            f"{path}: the node is not calibrated, so there is no twin to compare; run hms calibrate"
        )
    return world


def noise_seeds(seed: int, count: int) -> list[int]:
    """Seeds of the twin's noise."""
    return [int(each) for each in np.random.SeedSequence([seed, 0x7417]).generate_state(count)]


def in_turn(names: Sequence[str], seed: int, turn: int) -> list[str]:
    """The order of a round: beginning with another for every seed, and backwards every second time."""
    first = (seed + turn // 2) % len(names)
    order = [*names[first:], *names[:first]]
    return order[::-1] if turn % 2 else order


def kendall_tau(
    real: Mapping[str, Estimate], twin: Mapping[str, Estimate], *, overlapping_agree: bool = True
) -> float | None:
    """Kendall's τ of two rankings (Biometrika 30, 1938); None of fewer than two.

    Args:
        real: By scheduler, one figure.
        twin: The same in the other world.
        overlapping_agree: A pair whose intervals overlap in either world counts as agreeing: nobody knows its order.
    """
    agreeing = pairs = 0
    for a, b in combinations(real, 2):
        pairs += 1
        unknown = overlapping_agree and (_overlap(real[a], real[b]) or _overlap(twin[a], twin[b]))
        product = (real[a].mean - real[b].mean) * (twin[a].mean - twin[b].mean)
        agreeing += 1 if unknown or product > 0.0 else -1 if product < 0.0 else 0
    return agreeing / pairs if pairs else None


def _overlap(a: Estimate, b: Estimate) -> bool:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low <= b.high and b.low <= a.high


def _figures(real: Sequence[Mapping[str, Value]], predicted: Sequence[Mapping[str, Value]]) -> dict[str, float]:
    """What was measured (the mean of the rounds), what was predicted (of the draws), and the error.

    Nothing where nobody knows.
    """
    figures = {"failed": float(sum(_number(each["failed"]) for each in real))}
    for metric in (*JUDGED, "p95_response", "cost"):
        measured, foretold = (float(np.mean([_number(each[metric]) for each in runs])) for runs in (real, predicted))
        if not math.isnan(measured):
            figures[metric] = measured
        if not math.isnan(foretold):
            figures[PREDICTED.format(metric)] = foretold
        error = foretold / measured - 1.0 if measured > 0.0 else math.nan
        if not math.isnan(error):
            figures[ERROR.format(metric)] = error
    return figures


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _calibration(world: World, scenario: Scenario) -> dict[str, float]:
    """What the twin is made of: its cross-validated errors by kind, its noise, its capacity, the rate."""
    cost = world.physics.cost
    assert isinstance(cost, CalibratedCost)
    errors = {f"error_{kind}": found["all"] for kind, found in cost.errors().items()}
    known = {name: error for name, error in errors.items() if error is not None}
    return {**known, "noise": cost.noise(), "capacity": scenario.capacity, "rate": scenario.rate or math.nan}


def _errors(point: PointResult, name: str) -> dict[str, object]:
    """The error of the means, and of every seed; None where the machine does not tell."""
    found: dict[str, object] = {}
    for metric in JUDGED:
        known = point.estimates[name]
        if metric not in known or PREDICTED.format(metric) not in known:
            found[metric] = None
            continue
        of_means = known[PREDICTED.format(metric)].mean / known[metric].mean - 1.0
        found[metric] = {"of_means": of_means, **estimate(point.values(name, ERROR.format(metric))).to_json()}
    return found


def _remarks(errors: Mapping[str, Mapping[str, object]], tau: float | None, strict: float | None) -> list[str]:
    remarks = []
    for metric, words in (("avg_response", "mean response"), ("makespan", "makespan"), ("energy", "energy")):
        known = {name: each[metric] for name, each in errors.items()}
        of_means = {name: float(each["of_means"]) for name, each in known.items() if isinstance(each, dict)}
        if not of_means:
            remarks.append(f"{words}: this machine does not tell it.")
            continue
        worst = max(of_means, key=lambda name: abs(of_means[name]))
        near = sum(abs(error) <= TOLERANCE for error in of_means.values())
        remarks.append(
            f"{words}: the twin is within {TOLERANCE:.0%} of the machine for {near} of {len(of_means)} schedulers; "
            f"the worst is {worst} with {of_means[worst]:+.1%}."
        )
    if tau is not None:
        alone = f"; by the means alone {strict:.2f}"
        remarks.append(f"Kendall's τ over mean response, pairs whose intervals overlap agreeing: {tau:.2f}{alone}.")
    return remarks
