"""`order`: deciding at once against letting tasks wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hybrid_scheduler.experiments.base import Point, Record, Unit
from hybrid_scheduler.experiments.racing import PRESET, Racing
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.statistics import estimate
from hybrid_scheduler.scenario import Load, PresetTasks, Scenario
from hybrid_scheduler.scenario.random_nodes import random_world

AT_ONCE = ("oracle", "mct", "hybrid_ml", "rl_agent")
WAITING = ("fcfs", "sjf", "hybrid_queue")
LOADS = (0.3, 0.6, 0.8)
NOISY_LOAD = 0.6
NOISES = (0.0, 0.25, 0.5, 1.0)
"""Of the true times around the expected ones, at `NOISY_LOAD`; without noise it is that load itself."""
PAIRS = (
    *(("hybrid_queue", rival) for rival in ("sjf", "fcfs", *AT_ONCE)),
    *(("sjf", rival) for rival in ("fcfs", "oracle", "mct")),
    *(("rl_agent", rival) for rival in ("hybrid_ml", "mct", "oracle")),
)


@dataclass(frozen=True)
class Band:
    """Random nodes with loads between two borders.

    Attributes:
        low: The lowest load.
        high: The highest load.
    """

    low: float
    high: float

    @property
    def name(self) -> str:
        """The borders."""
        return f"{self.low:.2f}-{self.high:.2f}"

    def scenario(self, node_seed: int, tasks: int, warmup: int) -> Scenario:
        """Tasks for one of the nodes; its seed decides the load and the tasks, too."""
        load = float(np.random.default_rng([node_seed, *b"load"]).uniform(self.low, self.high))
        world = random_world(node_seed)
        return Scenario(PresetTasks(PRESET), world, tasks, Load(load), node_seed, warmup=warmup)


BANDS = (Band(0.20, 0.45), Band(0.45, 0.70), Band(0.70, 0.85))
NODE_SEEDS = {band.name: 1000 * number for number, band in enumerate(BANDS, start=1)}
"""Added to an experiment's seed: the seed of its node in a band."""


def at_load(load: float) -> str:
    """The setting with this load on the default node."""
    return f"load={load:g}"


def on_nodes(band: Band) -> str:
    """The setting with random nodes in a band of loads."""
    return f"nodes={band.name}"


def with_noise(noise: float) -> str:
    """The setting with this noise; without any it is that of the load."""
    return f"noise={noise:g}" if noise else at_load(NOISY_LOAD)


@dataclass(frozen=True, kw_only=True)
class Order(Racing):
    """Who decides at once against who lets tasks wait: by load, on random nodes, and with wrong expectations.

    `load=…`: the default node. `nodes=…`: another random node for every seed, with a load in that band. `noise=…`: the
    default node at a load of 0.6, where the true times scatter around the expected ones by this much (the oracle alone
    knows them). The objective is response time. Learners continue from packaged models where those fit the node and
    start from nothing where not, as the forests do on random nodes. The first fifth of the tasks does not count.
    """

    name: ClassVar[str] = "order"
    question: ClassVar[str] = f"Is it better to let {PRESET} tasks wait and choose their order than to decide at once?"
    schedulers: ClassVar[tuple[str, ...]] = (*AT_ONCE, *WAITING)
    subjects: ClassVar[tuple[str, ...]] = ("hybrid_queue", "sjf", "rl_agent")
    compared: ClassVar[tuple[str, ...]] = ("times_oracle", "p99_times_oracle", "p99_slowdown", "fairness")
    shown: ClassVar[tuple[str, ...]] = (
        "avg_response",
        "times_oracle",
        "p99_times_oracle",
        "p50_slowdown",
        "p99_slowdown",
        "max_slowdown",
        "fairness",
    )
    plots: ClassVar[tuple[str, ...]] = ("order_response", "order_slowdown", "order_fairness")
    parameter: ClassVar[str | None] = "setting"
    default_seeds: ClassVar[int] = 10
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}

    tasks: int = 8000
    train_tasks: int = 0

    def points(self) -> Sequence[Point | None]:
        """The settings."""
        return tuple(dict.fromkeys([*map(at_load, LOADS), *map(on_nodes, BANDS), *map(with_noise, NOISES)]))

    def pairs(self) -> Sequence[tuple[str, str]]:
        """What a doubter would ask for."""
        return PAIRS

    def run(self, unit: Unit) -> Record:
        """One race in one setting."""
        scenario = self.scenario_in(str(unit.point), unit.seed)
        contestants = {name: self.entrant(name, unit.seed, scenario.world) for name in self.schedulers}
        return self.race(unit, contestants, scenario)

    def scenario_in(self, setting: str, seed: int) -> Scenario:
        """The tasks and the node of a setting."""
        warmup = self.tasks // 5
        for band in BANDS:
            if setting == on_nodes(band):
                return band.scenario(NODE_SEEDS[band.name] + seed, self.tasks, warmup)
        for noise in NOISES:
            if setting == with_noise(noise):
                physics = replace(self.world.physics, noise=noise or self.world.physics.noise)
                return replace(self.scenario(seed, NOISY_LOAD, warmup), world=replace(self.world, physics=physics))
        return self.scenario(seed, next(load for load in LOADS if setting == at_load(load)), warmup)

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """What noise costs everybody: mean response with it over the same without.

        The oracle knows the noise and makes the best of it, so figures over the oracle's do not tell.
        """
        by_setting = {point.point: point for point in points}
        exact = by_setting[with_noise(0.0)]
        costs: dict[str, dict[str, object]] = {}
        for noise in NOISES[1:]:
            noisy = by_setting[with_noise(noise)]
            for name in self.schedulers:
                pairs = zip(noisy.values(name, "avg_response"), exact.values(name, "avg_response"), strict=True)
                costs.setdefault(f"{noise:g}", {})[name] = estimate([own / before for own, before in pairs]).to_json()
        return {"noise_costs": costs}

    def facts(self) -> dict[str, object]:
        """How learners start, which nodes there are, and which settings form a row."""
        start = (
            "learners continue from the models in the package where those fit the node, else they start from nothing"
        )
        nodes = {name: f"seed plus {first}" for name, first in NODE_SEEDS.items()}
        rows = {
            "load": {f"{load:g}": at_load(load) for load in LOADS},
            "load, random nodes": {band.name: on_nodes(band) for band in BANDS},
            f"noise, load {NOISY_LOAD:g}": {f"{noise:g}": with_noise(noise) for noise in NOISES},
        }
        return {"start": start, "warmup": self.tasks // 5, "node_seeds": nodes, "rows": rows}
