"""Parallel jobs of a log: waits and bounded slowdowns under backfilling and under the learned queue.

    python benchmarks/backfilling.py TRACE [--cpus 100] [--schedulers fcfs,easy_backfill,hybrid_queue] [--json FILE]

TRACE is a log in the Standard Workload Format (Parallel Workloads Archive) that says what users asked for. Every job
gets as many CPUs as it had, all from its start to its end, and takes its recorded time. The classics go by the users'
estimates; the forest of `hybrid_queue` starts with nothing and learns from the jobs that have finished what to expect
of the next, given what its user asked for. The bounded slowdown has the usual threshold of 10 s. Exits non-zero when
`hybrid_queue` is not ahead of `easy_backfill` in both means. Measured on the log KTH-SP2-1996-2.1 (28,481 jobs, 100
processors), mean wait and bounded slowdown: `fcfs` 389,901 s and 7,511, `conservative_backfill` 8,124 s and 103,
`easy_backfill` 6,871 s and 90, `hybrid_queue` 6,436 s and 62; `sjf`, which reserves nothing for wide jobs, 5,862 s
and 46.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hybrid_scheduler import compare
from hybrid_scheduler.schedulers.hybrid_queue import HybridQueue

NAMES = "fcfs,easy_backfill,conservative_backfill,sjf,hybrid_queue"
LEARNED = "hybrid_queue"
SHORTEST, OLDEST, SAMPLED = 64, 8, 32
"""More than it looks at by default: of a few jobs shown, all may be too wide for what is idle."""
FIGURES = ("avg_wait", "bounded_slowdown", "p95_response", "max_slowdown", "makespan", "failed", "decision_us")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--cpus", type=int, default=100)
    parser.add_argument("--tasks", type=int, help="only the first so many jobs")
    parser.add_argument("--schedulers", default=NAMES)
    parser.add_argument("--estimates", choices=("requested", "nominal"), default="requested")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="- for standard output")
    options = parser.parse_args()
    names = options.schedulers.split(",")
    said = sys.stderr if options.json == "-" else sys.stdout
    learned = HybridQueue(0.0, shown_shortest=SHORTEST, shown_oldest=OLDEST, shown_sampled=SAMPLED, seed=options.seed)
    result = compare(
        {name: learned if name == LEARNED else name for name in names},
        trace=options.trace,
        tasks=options.tasks,
        estimates=options.estimates,
        cpus=options.cpus,
        gpus=0,
        seed=options.seed,
    )
    for note in result.notes:
        print(note, file=said)
    figures: dict[str, dict[str, Any]] = {
        name: {key: race.figures()[key] for key in FIGURES} for name, race in result.race.schedulers.items()
    }
    print(f"{'':<24}{'mean wait, s':>16}{'mean bounded slowdown':>24}", file=said)
    for name, found in figures.items():
        print(f"{name:<24}{found['avg_wait']:>16.0f}{found['bounded_slowdown']:>24.1f}", file=said)
    document = json.dumps({"jobs": result.scenario.count, "cpus": options.cpus, "schedulers": figures}, indent=2)
    if options.json == "-":
        print(document)
    elif options.json:
        Path(options.json).write_text(document + "\n", encoding="utf-8")
    if not {"easy_backfill", LEARNED} <= figures.keys():
        return 0
    easy, queue = figures["easy_backfill"], figures[LEARNED]
    return int(any(queue[key] >= easy[key] for key in ("avg_wait", "bounded_slowdown")))


if __name__ == "__main__":
    sys.exit(main())
