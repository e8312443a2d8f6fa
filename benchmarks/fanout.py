"""How much faster an experiment is on a Ray cluster of this machine than one part after the other, with equal results.

    python benchmarks/fanout.py                         # mixed, 4 seeds, 2 workers
    python benchmarks/fanout.py --tasks 2000 --seeds 8 --workers 4 --json -

Both are warm when the clock starts: the cluster is up, its workers have loaded the package, compiled code is there. The
machine should have as many idle cores as there are workers; the load it had is in the result. Ends with an error when
the records differ in more than what the clock says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from hybrid_scheduler.experiments.base import Arrays, Record
from hybrid_scheduler.experiments.mixed import Mixed
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.hardware.ray_cluster import connect
from hybrid_scheduler.hardware.ray_workers import RayWorkers
from hybrid_scheduler.hardware.workers import Workers

WARM = Mixed(tasks=30, train_tasks=60)


def timed(experiment: Mixed, seeds: Sequence[int], workers: Workers | None) -> tuple[float, tuple[Record, ...]]:
    """Seconds and records."""
    began = perf_counter()
    records = run_experiment(experiment, seeds, jobs=1, workers=workers).records
    return perf_counter() - began, records


def bits(record: Record) -> object:
    """All of a record that must not depend on where it was made."""

    def contents(arrays: Arrays) -> list[tuple[str, str, bytes]]:
        return [(name, key, values.tobytes()) for name, columns in arrays.items() for key, values in columns.items()]

    return record.seed, record.point, record.figures, contents(record.curves), contents(record.samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=Mixed.tasks)
    parser.add_argument("--train-tasks", type=int, default=Mixed.train_tasks)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="- is standard output")
    options = parser.parse_args()
    experiment, seeds = Mixed(tasks=options.tasks, train_tasks=options.train_tasks), range(1, options.seeds + 1)
    cluster = connect("ray", processors=options.workers)
    try:
        with RayWorkers("ray") as workers:
            timed(WARM, range(1, options.workers + 1), workers)
            timed(WARM, [1], None)
            before = os.getloadavg()[0]
            spread, there = timed(experiment, seeds, workers)
            one, here = timed(experiment, seeds, None)
    finally:
        cluster.close()
    same = [bits(record) for record in here] == [bits(record) for record in there]
    document = {
        "tasks": options.tasks,
        "train_tasks": options.train_tasks,
        "seeds": options.seeds,
        "workers": options.workers,
        "cores": os.cpu_count(),
        "load_before": round(before, 2),
        "one_after_the_other_seconds": round(one, 2),
        "ray_seconds": round(spread, 2),
        "times_as_fast": round(one / spread, 3),
        "same_records": same,
    }
    text = json.dumps(document, indent=2)
    if options.json and options.json != "-":
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    print(text)
    if not same:
        sys.exit("the records differ")


if __name__ == "__main__":
    main()
