"""Choose what counts for tasks of graphs in the order of `hybrid_queue`, on random graphs and random nodes.

    python benchmarks/graph_weights.py --jobs 2              # some ten minutes on two cores
    python benchmarks/graph_weights.py --generations 20

The order network stays as it is: what is chosen are the weights of `learning.order.network.graph_score`, which count
for tasks of graphs alone. They are found by evolution strategies (Salimans et al., 2017), as the network was. Every
generation has new graphs (seeds from 6 000 000 on, which nothing else uses): tiled factorisations whose kernels have
random times, layers and forks, on random nodes, with data between tasks and with estimates that err. A candidate is
judged by its makespan over that of the order without these weights. Prints the curve and, in the end, the weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from hybrid_scheduler.cluster.node import UnlabelledTasks
from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.learning.order.network import GRAPH, N_GRAPH, load_weights
from hybrid_scheduler.learning.upward_rank import upward_ranks
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import TimedTasks, World
from hybrid_scheduler.schedulers.hybrid_queue import RANKED
from hybrid_scheduler.training.order import Rehearsal

FIRST_SEED = 6_000_000
PAIRS, SCENARIOS = 12, 16
"""Candidates of a generation, each with its mirror image, and the graphs they are judged on."""
SIGMA, RATE = 0.15, 0.08
KINDS = 6

Graph = tuple[list[int], list[list[int]]]
"""The kind of every task, and its parents."""


class GraphRehearsal(Rehearsal):
    """The order on estimates, shown what `hybrid_queue` is shown of graphs."""

    ranks_tasks = True
    shown_ranked = RANKED

    def __init__(self, weights: FloatArray) -> None:
        super().__init__(load_weights())
        self.state[GRAPH:] = weights


def tiled(tiles: int, *, symmetric: bool) -> Graph:
    """A factorisation in tiles: Cholesky's, or LU without pivoting."""
    kinds: list[int] = []
    parents: list[list[int]] = []
    writer: dict[tuple[int, int], int] = {}

    def add(kind: int, written: tuple[int, int], *read: tuple[int, int]) -> None:
        kinds.append(kind)
        parents.append(sorted({writer[tile] for tile in (written, *read) if tile in writer}))
        writer[written] = len(kinds) - 1

    for k in range(tiles):
        add(0, (k, k))
        for i in range(k + 1, tiles):
            add(1, (i, k), (k, k))
            if not symmetric:
                add(2, (k, i), (k, k))
        for i in range(k + 1, tiles):
            for j in range(k + 1, i if symmetric else tiles):
                add(3, (i, j), (i, k), (j, k) if symmetric else (k, j))
            if symmetric:
                add(4, (i, i), (i, k))
    return kinds, parents


def layered(rng: np.random.Generator) -> Graph:
    """Layers of any width; a task waits for some of the layer before."""
    kinds: list[int] = []
    parents: list[list[int]] = []
    before: list[int] = []
    for width in rng.integers(1, int(rng.integers(4, 40)), int(rng.integers(4, 14))).tolist():
        layer = list(range(len(kinds), len(kinds) + width))
        for _ in layer:
            kinds.append(int(rng.integers(KINDS)))
            count = min(len(before), int(rng.integers(1, 4)))
            parents.append(sorted(rng.choice(before, count, replace=False).tolist()) if before else [])
        before = layer
    return kinds, parents


def drawn(seed: int) -> TimedTasks:
    """The graph of a seed on its node: estimates that err, and the real times."""
    rng = np.random.default_rng([seed, *b"graph"])
    chance = rng.random()
    if chance < 0.5:
        kinds, parents = tiled(int(rng.integers(4, 11)), symmetric=True)
    elif chance < 0.65:
        kinds, parents = tiled(int(rng.integers(3, 8)), symmetric=False)
    else:
        kinds, parents = layered(rng)
    cpus, gpus, n = int(rng.integers(1, 25)), int(rng.integers(0 if rng.random() < 0.1 else 1, 7)), len(kinds)
    devices = [Device(f"cpu_{i}", "cpu") for i in range(cpus)]
    devices += [Device(f"gpu_{i}", "gpu", bandwidth=float(rng.uniform(4000, 16000))) for i in range(gpus)]
    on_cpu = np.exp(rng.normal(0.0, 0.7, KINDS))
    on_gpu = on_cpu / np.exp(rng.uniform(np.log(0.5), np.log(50.0), KINDS))
    spread = np.exp(rng.normal(0.0, float(rng.choice((0.0, 0.3))), n))[:, None]
    seconds = np.array([[on_cpu[k]] * cpus + [on_gpu[k]] * gpus for k in kinds]) * spread
    usual = float(np.median(seconds.min(axis=1)))
    megabytes = float(rng.uniform(0.0, 0.5)) * usual * 10_000.0
    tasks = TaskBatch.from_columns(
        np.full(n, 1000.0),
        np.full(n, 0.5),
        np.full(n, 1.0),
        dependencies=[[(parent, megabytes) for parent in waits] for waits in parents],
    )
    cluster = ClusterSpec(tuple(devices))
    world = World(cluster, Physics(cost=TableCost(seconds, tuple(range(n)), cluster.names), noise=0.1))
    timed = world.timed(tasks, seed)
    wrong = np.exp(rng.normal(0.0, float(rng.uniform(0.0, 0.1)), (n, 1, 1)))
    return TimedTasks(world, tasks, timed.nominal * wrong, timed.realised)


def log_makespan(timed: TimedTasks, ranks: FloatArray, weights: FloatArray) -> float:
    """Of the order with these weights."""
    scheduler = GraphRehearsal(weights)
    node = simulated_node(scheduler, UnlabelledTasks(timed.tasks), timed.world)
    node.add(timed)
    node.rank(ranks)
    Driver(scheduler, node).run()
    return float(np.log(node.outcomes().finish_time.max()))


def judged(seed: int, candidates: FloatArray) -> FloatArray:
    """Of every candidate: the logarithm of its makespan over that without these weights."""
    timed = drawn(seed)
    tasks = timed.tasks
    ranks = upward_ranks(tasks.parent_start, tasks.parents, timed.nominal.sum(axis=1).min(axis=1))
    usual = log_makespan(timed, ranks, np.zeros(N_GRAPH))
    return np.array([log_makespan(timed, ranks, weights) - usual for weights in candidates])


@dataclass
class Search:
    """Where the search stands: weights now, their running average, and Adam's two moments."""

    weights: FloatArray
    average: FloatArray
    momentum: FloatArray
    variance: FloatArray
    done: int = 0

    @classmethod
    def begin(cls) -> Search:
        """What is critical first, nothing else."""
        start = np.zeros(N_GRAPH)
        start[1] = 2.0
        return cls(start, start.copy(), np.zeros(N_GRAPH), np.zeros(N_GRAPH))

    def step(self, generations: int, spread: Callable[..., Sequence[FloatArray]]) -> float:
        """One generation; returns the mean figure of the candidates."""
        noise = np.random.default_rng([FIRST_SEED, self.done]).normal(size=(PAIRS, N_GRAPH))
        signed = np.concatenate([noise, -noise])
        first = FIRST_SEED + self.done * SCENARIOS
        judge = partial(judged, candidates=self.weights + SIGMA * signed)
        figures = np.stack(list(spread(judge, range(first, first + SCENARIOS))))
        deviation = np.maximum(figures.std(axis=1, keepdims=True), 1e-3)
        standing = ((figures - figures.mean(axis=1, keepdims=True)) / deviation).mean(axis=0)
        gradient = (standing @ signed) / (len(standing) * SIGMA)
        rate = RATE * (1.0 - 0.9 * self.done / generations)
        self.done += 1
        self.momentum = 0.9 * self.momentum + 0.1 * gradient
        self.variance = 0.99 * self.variance + 0.01 * gradient**2
        size = np.sqrt(self.variance / (1.0 - 0.99**self.done)) + 1e-8
        self.weights = self.weights - rate * (self.momentum / (1.0 - 0.9**self.done)) / size
        self.average = self.average + max(0.1, 1.0 / self.done) * (self.weights - self.average)
        return float(figures.mean())


def main() -> int:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    search = Search.begin()
    with get_context("spawn").Pool(options.jobs) as pool:
        for generation in range(options.generations):
            mean = search.step(options.generations, partial(pool.map, chunksize=1))
            print(f"generation {generation + 1}: makespan over that without the weights {np.exp(mean):.4f}", flush=True)
            if (generation + 1) % 10 == 0:
                print(json.dumps(np.round(search.average, 3).tolist()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
