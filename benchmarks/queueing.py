"""What letting tasks wait is worth: `sjf` and `fcfs` over the oracle, beside those that decide at once.

    python benchmarks/queueing.py [--tasks 20000] [--seeds 1 2 3 4 5]

Mean response, 99th percentile and the worst slowdown (response over the least time possible) on the default node, the
preset `mixed`, by load; ratios are means over the seeds. Exits non-zero when `sjf` is above its limits.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

LIMITS = {0.3: 1.06, 0.6: 0.57, 0.8: 0.21}
"""Mean response of `sjf` over the oracle's, by load."""
NAMES = ("sjf", "fcfs", "mct", "gpu_only")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    options = parser.parse_args()
    world, good = World(), True
    print(
        f"{'load':>5} {'scheduler':<10} {'mean':>7} {'p99':>7} {'worst slowdown':>15}   over the oracle's mean and p99"
    )
    for load, limit in LIMITS.items():
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in (*NAMES, "oracle")}
        for seed in options.seeds:
            tasks = WorkloadGenerator(seed).generate("mixed", options.tasks, load * capacity("mixed", world))
            race = Race(tasks, world, seed=seed)
            least = race.timed.least_seconds()
            response = {name: race.run(create_scheduler(name, seed)).response_time for name in rows}
            mean, high = response["oracle"].mean(), np.percentile(response["oracle"], 99)
            for name, values in response.items():
                row = values.mean() / mean, np.percentile(values, 99) / high, (values / least).max()
                rows[name].append((float(row[0]), float(row[1]), float(row[2])))
        for name, found in rows.items():
            ratio, tail, worst = np.mean(found, axis=0)
            print(f"{load:>5} {name:<10} {ratio:>7.3f} {tail:>7.3f} {worst:>15.1f}", flush=True)
        good &= float(np.mean(rows["sjf"], axis=0)[0]) <= limit
    print("sjf is within its limits" if good else f"sjf is above its limits {LIMITS}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
