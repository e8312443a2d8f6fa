"""Small random task graphs: makespan over the optimum that CP-SAT proves, for every scheduler of graphs.

    python benchmarks/optimality.py [--graphs 90] [--schedulers heft,cpop] [--json FILE]

Layered random graphs of 10 to 30 tasks on 3 to 5 unlike machines, each machine a node of its own, after Topcuoglu,
Hariri and Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing", IEEE Trans.
Parallel Distrib. Syst. 13 (2002): the time of a task on a machine is uniform within half of its mean around it, its
data takes `CCR` times the mean time of a task, on average. All tasks are there at time 0. Every scheduler goes through
the ordinary race; `cp_sat` first, with `--seconds` for each graph. Ratios are over its makespan, so those of graphs for
which the optimum was not proved are over the best plan known. Exits non-zero when a schedule is below a bound.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.cp_sat import CpSat
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_names

GRAPH_SCHEDULERS = (
    "heft",
    "cpop",
    "peft",
    "etf",
    "hbmct",
    "dmda",
    "heteroprio",
    "work_stealing",
    "mct",
    "min_min",
    "sjf",
)
CCR = (0.0, 0.5, 2.0)
"""Seconds of data over seconds of work, on average."""
ROUNDING = 1e-9


def graph_race(rng: np.random.Generator, ccr: float) -> Race:
    """A layered random graph on machines whose network carries a megabyte a second."""
    count, machines = int(rng.integers(10, 31)), int(rng.integers(3, 6))
    mean = rng.uniform(1.0, 20.0, (count, 1))
    times = mean * rng.uniform(0.5, 1.5, (count, machines))
    layer = np.sort(rng.integers(0, max(2, round(count**0.5)), count))
    tasks = []
    for i in range(count):
        above = (
            np.flatnonzero(layer == layer[i] - 1) if (layer == layer[i] - 1).any() else np.flatnonzero(layer < layer[i])
        )
        chosen = rng.choice(above, min(len(above), int(rng.integers(1, 4))), replace=False) if len(above) else above
        data = 2.0 * ccr * times.mean() * rng.random(len(chosen))
        parents = (
            tuple((int(p), float(mb)) for p, mb in zip(chosen, data, strict=True)) if ccr else tuple(map(int, chosen))
        )
        tasks.append(Task(i, 100.0, 0.5, 1.0, 0.0, 1.0, parents))  # type: ignore[arg-type]
    names = tuple(f"cpu_{d}" for d in range(machines))
    devices = tuple(Device(name, "cpu", node=d) for d, name in enumerate(names))
    world = World(ClusterSpec(devices, network_bandwidth=1.0), Physics(TableCost(times, tuple(range(count)), names)))
    return Race(TaskBatch.from_tasks(tasks), world)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=90)
    parser.add_argument(
        "--schedulers", default=",".join(name for name in GRAPH_SCHEDULERS if name in scheduler_names())
    )
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="- for standard output")
    options = parser.parse_args()
    names, said = options.schedulers.split(","), sys.stderr if options.json == "-" else sys.stdout
    ratios: dict[str, list[float]] = {name: [] for name in names}
    proved, below, began = [], list[str](), perf_counter()
    for k in range(options.graphs):
        race = graph_race(np.random.default_rng([options.seed, k]), CCR[k % len(CCR)])
        planner = CpSat(seconds=options.seconds)
        outcomes = race.run(planner)
        best, least = float(outcomes.finish_time.max()), race.lower_bound(outcomes).makespan
        assert planner.bound is not None
        proved.append(planner.optimal)
        reached = {name: float(race.run(create_scheduler(name)).finish_time.max()) for name in names}
        for name, makespan in {"cp_sat": best, **reached}.items():
            if makespan < max(planner.bound, least) * (1.0 - ROUNDING):
                below.append(f"graph {k}: {name} {makespan} < {max(planner.bound, least)}")
        for name in names:
            ratios[name].append(reached[name] / best)
        if k % 8 == 7:
            print(f"{k + 1} graphs, {sum(proved)} optima proved, {perf_counter() - began:.0f} s", file=said, flush=True)
    result: dict[str, Any] = {}
    for name, values in ratios.items():
        sure = [value for value, known in zip(values, proved, strict=True) if known]
        mean = float(np.mean(sure)) if sure else None
        result[name] = {"mean": float(np.mean(values)), "worst": float(np.max(values)), "mean_where_proved": mean}
        by_ccr = {ccr: values[k :: len(CCR)] for k, ccr in enumerate(CCR)}
        result[name]["mean_by_ccr"] = {f"{ccr:g}": float(np.mean(some)) for ccr, some in by_ccr.items() if some}
    columns = "".join(f"{f'CCR {ccr:g}':>9}" for ccr in CCR)
    print(f"{'makespan / optimum':<20}{'mean':>9}{'worst':>9}{columns}", file=said)
    for name, figures in sorted(result.items(), key=lambda each: float(each[1]["mean"])):
        means = "".join(f"{mean:>9.4f}" for mean in figures["mean_by_ccr"].values())
        print(f"{name:<20}{figures['mean']:>9.4f}{figures['worst']:>9.4f}{means}", file=said)
    print(f"optimum proved for {sum(proved)} of {len(proved)} graphs; below a bound: {below or 'nobody'}", file=said)
    document = json.dumps(
        {"schedulers": result, "graphs": len(proved), "proved": sum(proved), "below": below}, indent=2
    )
    if options.json == "-":
        print(document)
    elif options.json:
        Path(options.json).write_text(document + "\n", encoding="utf-8")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
