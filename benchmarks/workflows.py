"""Real workflows through every scheduler of graphs, on two nodes, each schedule judged by the independent validator.

    python benchmarks/workflows.py FOLDER [--json -]

`FOLDER` holds WfFormat workflows (`*.json`, `*.json.gz`). Every one is read, raced on the default node (1 CPU and 4
GPUs) and on eight unlike devices in two machines by every scheduler below, and its makespan is shown over the lower
bound. Learners know nothing beforehand: they start cold. Exits non-zero when a file cannot be read, a schedule breaks a
rule, or a makespan is below the bound.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing.race import CheckedRace
from hybrid_scheduler.workloads.readers.registry import read_workload

PLANNERS = ("heft", "cpop", "peft", "etf", "hbmct")
ONLINE = ("dmda", "work_stealing", "heteroprio", "mct", "sjf")
LEARNED = ("hybrid_ml", "hybrid_queue", "rl_agent")
SEED = 1
UNLIKE = ClusterSpec(
    (
        Device("cpu_0", "cpu"),
        Device("cpu_1", "cpu", speed=0.5),
        Device("gpu_0", "gpu", speed=2.0, memory_mb=24_000),
        Device("gpu_1", "gpu", speed=0.5, memory_mb=4000, bandwidth=4000),
        Device("cpu_2", "cpu", speed=2.0, node=1),
        Device("gpu_2", "gpu", node=1),
        Device("gpu_3", "gpu", speed=4.0, bandwidth=32_000, node=1),
        Device("gpu_4", "gpu", speed=1.5, node=1, latency=0.01),
    )
)
NODES = {"default": World(), "unlike": World(UNLIKE)}


def raced(path: Path, world: World) -> dict[str, float]:
    """Makespan over bound of every scheduler on one workflow; raises where a schedule is wrong."""
    _, file = read_workload(path, SEED)
    race = CheckedRace(file.tasks, world, seed=SEED)
    ratios = {}
    for name in (*PLANNERS, *ONLINE, *LEARNED):
        outcomes = race.run(create_scheduler(name))
        if outcomes.failed.any():
            raise AssertionError(f"{path.name}: {name} left {int(outcomes.failed.sum())} tasks failed")
        makespan, bound = float(outcomes.finish_time.max() - outcomes.arrival_time.min()), race.lower_bound(outcomes)
        if makespan < bound.makespan:
            raise AssertionError(f"{path.name}: {name} took {makespan} s, below the bound of {bound.makespan} s")
        ratios[name] = makespan / bound.makespan
    return ratios


def main() -> int:
    """Race, show, and say whether everything held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", metavar="FILE", help="'-' for standard output")
    arguments = parser.parse_args()
    shown = sys.stderr if arguments.json == "-" else sys.stdout
    paths = sorted(path for path in arguments.folder.iterdir() if path.name.endswith((".json", ".json.gz")))
    if not paths:
        print(f"{arguments.folder}: there is no workflow (*.json, *.json.gz)", file=shown)
        return 2
    names, document = (*PLANNERS, *ONLINE, *LEARNED), {}
    for node, world in NODES.items():
        print(f"\n{node} node, makespan over bound\n{'':14}" + "".join(f"{name[:9]:>10}" for name in names), file=shown)
        found = {path.name.split(".")[0]: raced(path, world) for path in paths}
        for name, ratios in found.items():
            print(f"{name[:13]:14}" + "".join(f"{ratios[each]:10.3f}" for each in names), file=shown)
        means = {each: float(np.exp(np.mean([np.log(r[each]) for r in found.values()]))) for each in names}
        print(f"{'geom. mean':14}" + "".join(f"{means[each]:10.3f}" for each in names), file=shown)
        document[node] = {"workflows": found, "geometric_mean": means}
    print(f"\n{len(paths)} workflows, {len(names)} schedulers, {len(NODES)} nodes: all schedules are valid", file=shown)
    if arguments.json is not None:
        text = json.dumps(document, indent=1)
        if arguments.json == "-":
            print(text)
        else:
            Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
