"""Training of the order of `hybrid_queue` (`learning.order`): evolution strategies on random nodes.

Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning", arXiv:1703.03864 (2017):
weights are disturbed at random, in pairs of opposite signs; every pair races through the same random scenarios, and the
weights move towards what did better, with Adam. A race needs no gradient, so the simulator is used as it is. Every
generation has random nodes of its own. Scenarios go to all cores; the figures do not depend on how many.

A scenario is judged by what its objective says: mean response with a guard on the tail, energy and cost, each over what
`sjf` reaches with the same estimates. Within each scenario the figures of the population are brought to mean 0 and
deviation 1, so that a light load, where little can be won, has the same voice as an overloaded node.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybrid_scheduler.cluster.node import UnlabelledTasks
from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.hardware.workers import LocalWorkers, Workers
from hybrid_scheduler.learning.model_file import replacing
from hybrid_scheduler.learning.order.network import ENERGY, MAX_OVERTAKEN, MONEY, N_WEIGHTS, STATE, initial_weights
from hybrid_scheduler.model.device_columns import PRICE, WATTS
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.world import TimedTasks, World
from hybrid_scheduler.scenario.random_nodes import random_world
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Scheduler
from hybrid_scheduler.schedulers.hybrid_queue import OLDEST, OVERTAKEN, SAMPLED, SHORTEST, order_policy
from hybrid_scheduler.schedulers.sjf import ShortestJobFirst
from hybrid_scheduler.workloads import PRESETS, WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity_of_tasks

FIRST_SEED: Final = 1_000_000
"""Training scenarios have seeds from here on; benchmarks and claims use seeds far below."""


@dataclass(frozen=True)
class OrderTraining:
    """How the order is trained.

    Attributes:
        generations: Steps.
        pairs: Pairs of disturbed weights per step.
        scenarios: Random scenarios per step, each with a node of its own.
        tasks: Tasks of a scenario.
        warm_up: Tasks at its beginning that do not count.
        sigma: How much the weights are disturbed.
        rate: Step size, which falls to a tenth.
        tail: Weight of the logarithm of p99 beside that of the mean.
        seed: Decides everything.
        save_every: Generations between two savings.
    """

    generations: int = 160
    pairs: int = 16
    scenarios: int = 64
    tasks: int = 2000
    warm_up: int = 200
    sigma: float = 0.08
    rate: float = 0.04
    tail: float = 0.25
    seed: int = 1
    save_every: int = 10


@dataclass
class Progress:
    """Where a training stands; everything that is needed to go on.

    Attributes:
        generation: Steps done.
        weights: The weights now.
        average: A running average of them; what training gives in the end.
        momentum: Adam's first moment.
        variance: Adam's second.
        curve: Per step: generation, seconds so far, mean and best figure of the population (negative: better than
            `sjf`; its exponential is about the ratio to it).
    """

    generation: int
    weights: FloatArray
    average: FloatArray
    momentum: FloatArray
    variance: FloatArray
    curve: list[tuple[float, float, float, float]]


class Rehearsal(CompiledDispatcher):
    """The order on estimates instead of a forest's expectations, so that training needs no forest.

    It is shown what `hybrid_queue` is shown in earnest.
    """

    uses_estimates = True
    idle_only = True
    kernel = order_policy
    shown_shortest = SHORTEST
    shown_oldest = OLDEST
    shown_sampled = SAMPLED

    def __init__(self, weights: FloatArray, energy: float = 0.0, money: float = 0.0) -> None:
        self.state = np.zeros(STATE)
        self.state[:N_WEIGHTS] = weights
        self.state[[ENERGY, MONEY, MAX_OVERTAKEN]] = energy, money, OVERTAKEN

    def kernel_state(self) -> FloatArray:
        """Weights and what counts."""
        return self.state


@dataclass(frozen=True)
class OrderScenario:
    """One random node with a random stream, wrong estimates and something to care for.

    Attributes:
        timed: The tasks with estimates that err, and with their real times.
        energy: Weight of energy.
        money: Weight of money.
    """

    timed: TimedTasks
    energy: float
    money: float

    @classmethod
    def drawn(cls, seed: int, tasks: int) -> OrderScenario:
        """The scenario of a seed: an eighth on the default node, six in ten for time alone."""
        rng = np.random.default_rng([seed, *b"order"])
        world = World() if rng.random() < 0.125 else random_world(seed)
        physics = replace(
            world.physics,
            noise=0.0 if rng.random() < 0.5 else float(rng.uniform(0.0, 0.4)),
            split="serial" if rng.random() < 0.1 else "concurrent",
        )
        world = replace(world, physics=physics)
        load = float(rng.uniform(0.15, 0.95))
        preset = "mixed" if rng.random() < 0.6 else str(rng.choice(sorted(set(PRESETS) - {"drift"})))
        stream = WorkloadGenerator(int(rng.integers(2**31))).generate(preset, tasks, 1.0)
        stream = stream.with_arrivals(stream.arrival_time / (load * capacity_of_tasks(stream, world)))
        timed = world.timed(stream, seed)
        error = float(rng.uniform(0.0, 0.2))
        wrong = np.exp(rng.normal(0.0, error, (tasks, 1, timed.nominal.shape[2])))
        energy, money = (0.0, 0.0) if rng.random() < 0.6 else rng.dirichlet((1.0, 1.0, 1.0))[:2]
        return cls(TimedTasks(world, stream, timed.nominal * wrong, timed.realised), float(energy), float(money))

    def figures(self, scheduler: Scheduler, warm_up: int) -> FloatArray:
        """Logarithms of mean response, p99, energy and cost."""
        timed = self.timed
        node = simulated_node(scheduler, UnlabelledTasks(timed.tasks), timed.world)
        node.add(timed)
        Driver(scheduler, node).run()
        response = node.outcomes().response_time[warm_up:]
        busy, table = node.busy_seconds(math.inf), timed.world.public_table()
        figures = (response.mean(), np.percentile(response, 99), busy @ table[:, WATTS], busy @ table[:, PRICE])
        return np.log(np.maximum(figures, 1e-12))

    def judged(self, candidates: FloatArray, settings: OrderTraining) -> FloatArray:
        """Of every row of weights: how much worse than `sjf` it does, by what counts here; below 0 it does better."""
        usual = self.figures(ShortestJobFirst(), settings.warm_up)
        time = 1.0 - self.energy - self.money
        counts = np.array([time, time * settings.tail, self.energy, self.money])
        return np.array(
            [
                (self.figures(Rehearsal(weights, self.energy, self.money), settings.warm_up) - usual) @ counts
                for weights in candidates
            ]
        )


def _judged(seed: int, candidates: FloatArray, settings: OrderTraining) -> FloatArray:
    return OrderScenario.drawn(seed, settings.tasks).judged(candidates, settings)


def begin(settings: OrderTraining) -> Progress:
    """A training that has not begun."""
    weights, nothing = initial_weights(settings.seed), np.zeros(N_WEIGHTS)
    return Progress(0, weights, weights.copy(), nothing, nothing.copy(), [])


def train_order(
    settings: OrderTraining,
    folder: Path,
    *,
    jobs: int = 1,
    workers: Workers | None = None,
    fresh: bool = False,
    tell: Callable[[int], None] | None = None,
) -> Progress:
    """Train, from where an interrupted training in this folder stopped; writes weights and learning curve there.

    Args:
        settings: How.
        folder: Gets `order.npy` (the weights), `order.csv` (the curve) and `order-progress.npz` (to go on from).
        jobs: Processes.
        workers: Where scenarios run, instead of in processes of this machine; then `jobs` does not count. Same weights.
        fresh: Begin anew.
        tell: Told how many generations are done.

    Raises:
        InvalidInputError: The folder holds a training with other settings, or a damaged one.
    """
    file = folder / "order-progress.npz"
    progress = _read(file, settings) if file.exists() and not fresh else begin(settings)
    before, began = (progress.curve[-1][1] if progress.curve else 0.0), perf_counter()
    with LocalWorkers(jobs) if workers is None else nullcontext(workers) as chosen:
        for _ in range(progress.generation, settings.generations):
            _step(progress, settings, chosen)
            done, mean, best = progress.curve[-1][0], progress.curve[-1][2], progress.curve[-1][3]
            progress.curve[-1] = (done, before + perf_counter() - began, mean, best)
            if progress.generation % settings.save_every == 0 or progress.generation == settings.generations:
                _write(file, progress, settings, folder)
            if tell is not None:
                tell(progress.generation)
    return progress


def _step(progress: Progress, settings: OrderTraining, workers: Workers) -> None:
    """One generation."""
    number = progress.generation
    rng = np.random.default_rng([settings.seed, number])
    noise = rng.normal(size=(settings.pairs, N_WEIGHTS))
    signed = np.concatenate([noise, -noise])
    first = FIRST_SEED + (settings.seed * 1_000_000 + number) * settings.scenarios
    seeds = range(first, first + settings.scenarios)
    candidates = workers.share(progress.weights + settings.sigma * signed)
    figures = np.stack(workers.map(_judged, [(seed, candidates, settings) for seed in seeds]))
    deviation = np.maximum(figures.std(axis=1, keepdims=True), 1e-6)
    standing = ((figures - figures.mean(axis=1, keepdims=True)) / deviation).mean(axis=0)
    gradient = (standing @ signed) / (len(standing) * settings.sigma)
    figures = figures.mean(axis=0)
    progress.generation = step = number + 1
    progress.momentum = 0.9 * progress.momentum + 0.1 * gradient
    progress.variance = 0.99 * progress.variance + 0.01 * gradient**2
    direction = (progress.momentum / (1.0 - 0.9**step)) / (np.sqrt(progress.variance / (1.0 - 0.99**step)) + 1e-8)
    rate = settings.rate * (1.0 - 0.9 * number / settings.generations)
    progress.weights = progress.weights - rate * direction
    progress.average = progress.average + max(0.05, 1.0 / step) * (progress.weights - progress.average)
    progress.curve.append((float(step), 0.0, float(figures.mean()), float(figures.min())))


def _write(file: Path, progress: Progress, settings: OrderTraining, folder: Path) -> None:
    arrays: dict[str, Any] = asdict(progress)
    with replacing(file) as target:
        np.savez_compressed(target, settings=np.array(json.dumps(asdict(settings))), **arrays)
    with replacing(folder / "order.npy") as target:
        np.save(target, progress.average)
    with (folder / "order.csv").open("w", newline="", encoding="utf-8") as text:
        rows = csv.writer(text)
        rows.writerow(("generation", "seconds", "mean", "best"))
        rows.writerows(progress.curve)


def _read(file: Path, settings: OrderTraining) -> Progress:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            asked = json.loads(str(arrays["settings"]))
            vectors = {name: arrays[name] for name in ("weights", "average", "momentum", "variance")}
            curve = [(row[0], row[1], row[2], row[3]) for row in arrays["curve"].tolist()]
            progress = Progress(int(arrays["generation"]), **vectors, curve=curve)
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInputError(f"{file}: no training to go on from ({error}); say --fresh to begin anew") from error
    if asked != asdict(settings):
        raise InvalidInputError(
            f"{file}: holds a training with {asked}, but {asdict(settings)} is asked for; say --fresh, or another --out"
        )
    return progress
