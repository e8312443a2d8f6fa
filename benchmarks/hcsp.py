"""Independent tasks on unlike machines: makespan over the best one known, for published instances.

    python benchmarks/hcsp.py FOLDER [--schedulers min_min,optimizer] [--json FILE]

FOLDER holds instances of Braun et al., "A comparison of eleven static heuristics for mapping a class of independent
tasks onto heterogeneous distributed computing systems", J. Parallel Distrib. Comput. 61 (2001), plain or gzipped: the
number of tasks, of machines and a 0, then the seconds of each task on machine 0, 1, ...; and `best_known.csv` with the
columns `instance` and `best_known_makespan`. All tasks are there at time 0. Every scheduler goes through the ordinary
race. The optimizer is held to one core and `--seconds` (10) for each instance. Exits non-zero when its geometric mean
is above `--limit`.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads.readers.etc import EtcReader

NAMES = "olb,met,mct,lpt,max_min,duplex,sufferage,min_min,optimizer"
STEPS = 500_000
"""Of the optimizer, for each task: about 6 s on one core for 512 tasks and 16 machines."""


def race_of(times: FloatArray) -> Race:
    """Tasks that are all there at time 0, on machines that take these times."""
    rows, columns = times.shape
    names = tuple(f"cpu_{d}" for d in range(columns))
    cost, ones = TableCost(times, tuple(range(rows)), names), np.ones(rows)
    world = World(ClusterSpec(tuple(Device(name, "cpu") for name in names)), Physics(cost))
    return Race(TaskBatch.from_columns(ones, ones, ones), world)


def scheduler_of(name: str, seconds: float, seed: int) -> Scheduler:
    """A scheduler with its defaults; the optimizer with one core's time."""
    own = {"steps": STEPS, "restarts": 1, "seconds": seconds} if name == "optimizer" else {}
    return create_scheduler(name, seed, **own)


def geometric(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--schedulers", default=NAMES)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.01)
    parser.add_argument("--json", metavar="FILE", help="- for standard output")
    options = parser.parse_args()
    names = options.schedulers.split(",")
    with (options.folder / "best_known.csv").open(newline="", encoding="utf-8") as file:
        best = {row["instance"]: float(row["best_known_makespan"]) for row in csv.DictReader(file)}
    said = sys.stderr if options.json == "-" else sys.stdout
    print(f"{'makespan / best known':<22}" + "".join(f"{name:>11}" for name in names), file=said)
    for name in names:  # compiled before anything is timed
        race_of(np.sqrt(np.arange(1.0, 33.0)).reshape(16, 2)).run(scheduler_of(name, options.seconds, options.seed))
    instances: dict[str, dict[str, float]] = {}
    longest = 0.0
    for instance, known in best.items():
        path = next(path for path in sorted(options.folder.glob(f"{instance}*")) if path.stem in (instance, path.name))
        race, ratios = race_of(EtcReader().read(path, 0).seconds), {}
        for name in names:
            began = perf_counter()
            ratios[name] = float(race.run(scheduler_of(name, options.seconds, options.seed)).finish_time.max()) / known
            longest = max(longest, perf_counter() - began)
        instances[instance] = ratios
        print(f"{instance:<22}" + "".join(f"{ratios[name]:>11.4f}" for name in names), file=said, flush=True)
    means = {name: geometric([ratios[name] for ratios in instances.values()]) for name in names}
    print(f"{'geometric mean':<22}" + "".join(f"{means[name]:>11.4f}" for name in names), file=said)
    print(f"longest race: {longest:.1f} s", file=said)
    document = json.dumps({"geometric_mean": means, "instances": instances}, indent=2)
    if options.json == "-":
        print(document)
    elif options.json:
        Path(options.json).write_text(document + "\n", encoding="utf-8")
    return int(means.get("optimizer", 0.0) > options.limit)


if __name__ == "__main__":
    sys.exit(main())
