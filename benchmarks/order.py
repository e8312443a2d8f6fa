"""What letting tasks wait and choosing their order is worth, and every limit `hybrid_queue` and `rl_agent` must keep.

    python benchmarks/order.py                          # all of it: under half an hour on two cores
    python benchmarks/order.py --parts nodes,cold       # some of it
    python benchmarks/order.py --json - > order.json    # figures and limits as a document, the tables on stderr
    python benchmarks/order.py --judged sjf             # another scheduler in the place of hybrid_queue

Everybody cares for time alone (`energy_weight` 0), tasks are `mixed`, figures are over the oracle's of the same race.

- `default`: the default node, seeds 1 to 5, loads 0.3, 0.6 and 0.8, exact times and noise 0.2; packaged models.
- `nodes`: random nodes (`scenario.random_nodes`), eight in each of three bands of load and four above them. Nothing is
  known of their times beforehand: forests fit one node and start empty, what the package has for any node is loaded.
  The first 1000 tasks do not count. Geometric means over the nodes.
- `cold`: the default node with the packaged forest and without, tasks 501 to 5500.
- `shift`: trained where GPUs win, judged where the CPU does (`hms experiment shift`).
- `starvation`: one task in a hundred is huge, at a load of 0.95; the worst slowdown of those over that under `fcfs`.
- `cost`: wall-clock time of a decision while a thousand tasks wait, and of a race above capacity; nobody learns.

The nodes of `nodes` come from seeds 101 to 404; policies are trained on nodes of seeds from 10 000 on, and constants
are tuned on seeds 5000 to 5999 (`tuning.py`), so nobody has seen them. Exits non-zero when a limit is not kept.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.base import Unit
from hybrid_scheduler.experiments.order import Band
from hybrid_scheduler.experiments.shift import OPTIMAL, Shift
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class
from hybrid_scheduler.training.pretrained import load_pretrained
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity, capacity_of_tasks

PRESET = "mixed"
SEEDS = (1, 2, 3, 4, 5)
OTHERS = ("sjf", "fcfs", "mct", "hybrid_ml")

DEFAULT_TASKS = 20_000
NOISE = 0.2
DEFAULT_MEAN = {0.3: 1.07, 0.6: 0.58, 0.8: 0.24}
"""Most mean response over the oracle's, by load."""
DEFAULT_P99 = {0.3: 1.15, 0.6: 0.90, 0.8: 0.60}
NOISE_COSTS = 1.10

NODE_TASKS, NODE_WARMUP = 8000, 1000
NODE_MEAN = {"0.20-0.45": 0.96, "0.45-0.70": 0.83, "0.70-0.85": 0.22}
"""The same on random nodes, by band."""
NODE_P99 = {"0.20-0.45": 1.2, "0.45-0.70": 1.15, "0.70-0.85": 0.6}
BEHIND_SJF = 1.03
AGENT_OVER_MCT = 1.0
AGENT_AT_HIGH_LOAD = ("0.70-0.85", 0.75)

COLD_LOAD, COLD_FROM, COLD_TO, COLD_COSTS = 0.6, 500, 5500, 1.15
SHIFT_SEEDS, SHIFT_MOST = tuple(range(1, 11)), 1.25
HUGE_TASKS, HUGE_LOAD, HUGE_SIZE, HUGE_ONE_IN, HUGE_MOST = 100_000, 0.95, 5000.0, 100, 2.0
WAITING, DECISION_US = 1000, 50.0
CROWD_TASKS, CROWD_LOAD, CROWD_SECONDS = 100_000, 1.2, 60.0


NODES = {
    Band(0.20, 0.45): range(101, 109),
    Band(0.45, 0.70): range(201, 209),
    Band(0.70, 0.85): range(301, 309),
    Band(0.85, 1.00): range(401, 405),
}
"""Seeds of the nodes. The last band is shown, not judged: near capacity a mean says mainly how long one has watched."""


@dataclass(frozen=True)
class Limit:
    """A figure and the most it may be."""

    part: str
    what: str
    figure: float
    most: float

    @property
    def kept(self) -> bool:
        """Whether it is; a figure that is no number keeps nothing."""
        return self.figure <= self.most


@dataclass(frozen=True)
class Figures:
    """Of one scheduler in one race: seconds, and slowdowns without unit."""

    mean: float
    p99: float
    slowdown_p99: float


Table = dict[str, dict[str, list[float]]]
"""By scheduler and figure, over the oracle's: one value per race."""


@dataclass(frozen=True)
class Found:
    """What a part gave: limits, and figures for the document."""

    limits: list[Limit]
    figures: dict[str, Any]


def entrant(name: str, seed: int, world: World, *, packaged: bool = True) -> Scheduler:
    """A scheduler that cares for time alone, from its packaged model where there is one that fits."""
    accepted = inspect.signature(scheduler_class(name)).parameters
    scheduler = create_scheduler(name, seed, **({"energy_weight": 0.0} if "energy_weight" in accepted else {}))
    if packaged and isinstance(scheduler, Learner):
        load_pretrained(scheduler, world)
    return scheduler


def without_learning(scheduler: Scheduler) -> Scheduler:
    """The same, told of nothing that has finished."""
    deaf = type("Deaf" + type(scheduler).__name__, (type(scheduler),), {"observes": False, "wants_labels": False})
    scheduler.__class__ = deaf
    return scheduler


def stream(seed: int, count: int, load: float, world: World) -> TaskBatch:
    """Tasks at a share of the node's capacity."""
    return WorkloadGenerator(seed).generate(PRESET, count, load * capacity(PRESET, world))


def figures_of(race: Race, outcomes: OutcomeBatch) -> Figures:
    """Of the counted tasks that finished."""
    counted = race.counted(outcomes)
    counted = counted.select(~counted.failed)
    assert counted.least_seconds is not None
    response = counted.response_time
    slowdown = response / counted.least_seconds
    return Figures(float(response.mean()), float(np.percentile(response, 99)), float(np.percentile(slowdown, 99)))


def default_race(seed: int, load: float, noise: float, names: Sequence[str]) -> dict[str, Figures]:
    """One race on the default node."""
    world = World(physics=Physics(noise=noise))
    race = Race(stream(seed, DEFAULT_TASKS, load, world), world, seed=seed)
    return {name: figures_of(race, race.run(entrant(name, seed, world))) for name in names}


def node_race(band: Band, seed: int, names: Sequence[str]) -> dict[str, Figures]:
    """One race on a random node."""
    scenario = band.scenario(seed, NODE_TASKS, NODE_WARMUP)
    world = scenario.world
    race = Race(scenario.batch(), world, seed=seed, warmup=NODE_WARMUP)
    return {name: figures_of(race, race.run(entrant(name, seed, world))) for name in names}


def cold_race(seed: int, judged: str) -> tuple[float, float]:
    """Mean response from nothing and from the packaged model."""
    world = World()
    race = Race(stream(seed, COLD_TO, COLD_LOAD, world), world, seed=seed, warmup=COLD_FROM)
    cold, warm = (
        figures_of(race, race.run(entrant(judged, seed, world, packaged=known))).mean for known in (False, True)
    )
    return cold, warm


def shift_race(seed: int, judged: str) -> float:
    """Total time over the optimum's."""
    experiment = type("JudgedShift", (Shift,), {"schedulers": (OPTIMAL, judged)})()
    return float(experiment.run(Unit(seed)).figures[judged]["times_optimal"])


def huge_race(name: str) -> dict[str, float]:
    """The worst slowdown of the huge tasks and of all, under one scheduler."""
    world, seed = World(), SEEDS[0]
    drawn = WorkloadGenerator(seed).generate(PRESET, HUGE_TASKS, 1.0)
    huge = np.random.default_rng([seed, *b"huge"]).random(HUGE_TASKS) < 1.0 / HUGE_ONE_IN
    # What a task would take is proportional to its size; memory stays, or it would fit no GPU.
    grown = np.where(huge, HUGE_SIZE / drawn.size, 1.0)
    tasks = replace(drawn, size=drawn.size * grown, duration_estimate=drawn.duration_estimate * grown)
    rate = HUGE_LOAD * capacity_of_tasks(tasks, world)
    race = Race(tasks.with_arrivals(tasks.arrival_time / rate), world, seed=seed)
    outcomes = race.run(entrant(name, seed, world))
    assert outcomes.least_seconds is not None
    slowdown = outcomes.response_time / outcomes.least_seconds
    return {
        "huge": float(slowdown[huge].max()),
        "others": float(slowdown[~huge].max()),
        "mean": float(outcomes.response_time.mean()),
    }


def over_oracle(races: Iterable[Mapping[str, Figures]]) -> Table:
    """Every figure of every scheduler over the oracle's of the same race."""
    table: Table = {}
    for race in races:
        for name, figures in race.items():
            for key, value in asdict(figures).items():
                table.setdefault(name, {}).setdefault(key, []).append(value / getattr(race["oracle"], key))
    return table


def show(title: str, table: Table, mean: Callable[[list[float]], float]) -> dict[str, dict[str, float]]:
    """Print one table, and return what it says."""
    print(f"\n{title}\n{'over the oracle':<14} {'mean':>8} {'p99':>8} {'p99 slowdown':>13}")
    summed = {name: {key: mean(values) for key, values in found.items()} for name, found in table.items()}
    for name, found in summed.items():
        print(f"{name:<14} {found['mean']:>8.3f} {found['p99']:>8.3f} {found['slowdown_p99']:>13.3f}")
    return summed


def geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def average(values: Sequence[float]) -> float:
    return float(np.mean(values))


def default_part(pool: Executor, judged: str) -> Found:
    """The default node, with exact times and with noise.

    The oracle knows the noise and lives on it (at load 0.8 it answers in 0.4 of its time without), so what noise costs
    is told by one's own seconds with and without.
    """
    names = ("oracle", judged, *OTHERS)
    runs = {
        (load, noise): [pool.submit(default_race, seed, load, noise, names) for seed in SEEDS]
        for load in DEFAULT_MEAN
        for noise in (0.0, NOISE)
    }
    limits, figures = [], {}
    for load in DEFAULT_MEAN:
        exact, noisy = ([run.result() for run in runs[load, noise]] for noise in (0.0, NOISE))
        for noise, races in ((0.0, exact), (NOISE, noisy)):
            title = f"default node, load {load}, noise {noise}, seeds {list(SEEDS)}"
            figures[f"load {load} noise {noise}"] = show(title, over_oracle(races), average)
        own, where = figures[f"load {load} noise 0.0"][judged], f"{judged}, load {load}"
        limits.append(Limit("default", f"{where}: mean", own["mean"], DEFAULT_MEAN[load]))
        limits.append(Limit("default", f"{where}: p99", own["p99"], DEFAULT_P99[load]))
        for key in ("mean", "p99"):
            worse = [getattr(b[judged], key) / getattr(a[judged], key) for a, b in zip(exact, noisy, strict=True)]
            limits.append(Limit("default", f"{where}: {key}, noise {NOISE} over none", average(worse), NOISE_COSTS))
    return Found(limits, figures)


def nodes_part(pool: Executor, judged: str) -> Found:
    """Random nodes in bands of load."""
    names = ("oracle", judged, *OTHERS, "rl_agent")
    runs = {band: [pool.submit(node_race, band, seed, names) for seed in seeds] for band, seeds in NODES.items()}
    limits, figures = [], {}
    for band, started in runs.items():
        table = over_oracle(run.result() for run in started)
        title = f"{len(started)} random nodes, load {band.name}, seeds {NODES[band][0]} to {NODES[band][-1]}"
        said = figures[band.name] = show(title, table, geometric)
        if band.name not in NODE_MEAN:
            continue
        own, where = said[judged], f"load {band.name}"
        limits += [
            Limit("nodes", f"{judged}, {where}: mean", own["mean"], NODE_MEAN[band.name]),
            Limit("nodes", f"{judged}, {where}: p99", own["p99"], NODE_P99[band.name]),
            Limit("nodes", f"{judged} over sjf, {where}: mean", own["mean"] / said["sjf"]["mean"], BEHIND_SJF),
            Limit(
                "nodes",
                f"rl_agent over mct, {where}: mean",
                said["rl_agent"]["mean"] / said["mct"]["mean"],
                AGENT_OVER_MCT,
            ),
        ]
        if band.name == AGENT_AT_HIGH_LOAD[0]:
            limits.append(Limit("nodes", f"rl_agent, {where}: mean", said["rl_agent"]["mean"], AGENT_AT_HIGH_LOAD[1]))
    return Found(limits, figures)


def cold_part(pool: Executor, judged: str) -> Found:
    """From nothing against from the packaged model."""
    pairs = [run.result() for run in [pool.submit(cold_race, seed, judged) for seed in SEEDS]]
    ratios = [cold / warm for cold, warm in pairs]
    what = f"{judged}, cold over warm, load {COLD_LOAD}, tasks {COLD_FROM + 1}-{COLD_TO}: mean"
    return Found([Limit("cold", what, average(ratios), COLD_COSTS)], {"cold over warm": ratios})


def shift_part(pool: Executor, judged: str) -> Found:
    """The shift experiment."""
    ratios = [run.result() for run in [pool.submit(shift_race, seed, judged) for seed in SHIFT_SEEDS]]
    what = f"{judged}: total time after the shift over the optimum"
    return Found([Limit("shift", what, average(ratios), SHIFT_MOST)], {"times optimal": ratios})


def starvation_part(pool: Executor, judged: str) -> Found:
    """One task in a hundred is huge."""
    names = dict.fromkeys(("fcfs", judged, "sjf"))
    started = {name: pool.submit(huge_race, name) for name in names}
    found = {name: run.result() for name, run in started.items()}
    print(f"\n{HUGE_TASKS} tasks at load {HUGE_LOAD}, one in {HUGE_ONE_IN} of size {HUGE_SIZE:g}: worst slowdowns")
    for name, worst in found.items():
        print(
            f"{name:<14} huge {worst['huge']:>10.1f}   others {worst['others']:>12.1f}   mean s {worst['mean']:>8.3f}"
        )
    ratio = found[judged]["huge"] / found["fcfs"]["huge"]
    return Found([Limit("starvation", f"{judged} over fcfs: worst slowdown of huge tasks", ratio, HUGE_MOST)], found)


def cost_part(pool: Executor, judged: str) -> Found:
    """By the wall clock, in this process, when the others are done."""
    world, seed = World(), SEEDS[0]
    burst = WorkloadGenerator(seed).generate(PRESET, 2 * WAITING, 1.0)
    race = Race(burst.with_arrivals(np.zeros(2 * WAITING)), world, seed=seed)
    # All arrive at once, so that on average half of them wait when one is decided. The first race loads the code.
    taken = [seconds_of(race, judged, world) for _ in range(4)][1:]
    microseconds = min(taken) / len(burst) * 1e6
    crowd = Race(stream(seed, CROWD_TASKS, CROWD_LOAD, world), world, seed=seed)
    seconds = seconds_of(crowd, judged, world)
    return Found(
        [
            Limit("cost", f"{judged}: µs per decision, {WAITING} waiting on average", microseconds, DECISION_US),
            Limit("cost", f"{judged}: s for {CROWD_TASKS} tasks at load {CROWD_LOAD}", seconds, CROWD_SECONDS),
        ],
        {"microseconds": [value / len(burst) * 1e6 for value in taken], "crowd_seconds": seconds},
    )


def seconds_of(race: Race, judged: str, world: World) -> float:
    """Wall seconds of a race without learning."""
    scheduler = without_learning(entrant(judged, SEEDS[0], world))
    began = time.perf_counter()
    race.run(scheduler)
    return time.perf_counter() - began


PARTS: dict[str, Callable[[Executor, str], Found]] = {
    "default": default_part,
    "nodes": nodes_part,
    "cold": cold_part,
    "shift": shift_part,
    "starvation": starvation_part,
    "cost": cost_part,
}


def main() -> int:
    """Print the tables and the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="which, comma-separated")
    parser.add_argument("--judged", default="hybrid_queue", help="the scheduler that is held to the limits")
    parser.add_argument("--jobs", type=int, default=2, help="races at a time")
    parser.add_argument("--json", metavar="FILE", help="write the document there; - for standard output")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}")
    scheduler_class(options.judged)  # refuses unknown names now, not in a worker
    standard_output, began = sys.stdout, time.perf_counter()
    with redirect_stdout(sys.stderr if options.json == "-" else sys.stdout):
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            found = {part: PARTS[part](pool, options.judged) for part in parts}
        limits = [limit for each in found.values() for limit in each.limits]
        print()
        for limit in limits:
            print(f"{'PASS' if limit.kept else 'FAIL'}  {limit.what:<72} {limit.figure:>9.3f}  at most {limit.most:g}")
        seconds = time.perf_counter() - began
        print(f"\n{sum(limit.kept for limit in limits)} of {len(limits)} limits are kept; took {seconds:.0f} s")
    if options.json:
        document = {
            "judged": options.judged,
            "limits": [{**asdict(limit), "kept": limit.kept} for limit in limits],
            "figures": {part: each.figures for part, each in found.items()},
            "wall_seconds": seconds,
        }
        text = json.dumps(document, indent=2) + "\n"
        if options.json == "-":
            standard_output.write(text)
        else:
            Path(options.json).write_text(text, encoding="utf-8")
    return int(not all(limit.kept for limit in limits))


if __name__ == "__main__":
    sys.exit(main())
