"""Does the simulator foretell this machine? Calibrates it, runs kernels for real and in the twin, and judges both.

    python benchmarks/reality.py [--seeds 5] [--tasks 300] [--load 0.6] [--lanes N] [--cluster node.yaml] [--out DIR]

All eight kernels, over sizes that span the points where a GPU overtakes a CPU (they are printed for every kernel, as
the calibration has them), are calibrated on this machine's lanes unless `--cluster` names a node that was. Then
`hms experiment reality` runs: the same seeded streams through every scheduler, for real and in the twin. To pass:

- the twin's makespan and mean response are within 10 % of the machine's for each of at least five schedulers of those
  that choose between devices (error of the means over the seeds; every one that is further off is named);
- Kendall's τ over mean response is at least 0.8, pairs whose intervals overlap counting as agreeing;
- where there is a GPU: `hybrid_queue` is ahead of always-CPU, always-GPU and `mct` in real mean response.

Run it on a machine that has nothing else to do: whatever else runs there is measured, too. Exits non-zero where a
limit is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.reality import CONSTANT, RIVALS, TOLERANCE, Reality, calibrated_world
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.reports.report import missing_extras, write_report
from hybrid_scheduler.reports.run_folder import open_run

SIZES = (50, 100, 200, 500, 1000, 2000, 4000)
LEAST_TAU = 0.8
LEAST_NEAR = 5
JUDGED_BY = {"makespan": "makespan", "avg_response": "mean response"}
OURS = "hybrid_queue"
STEPS = 400


def crossings(node: Path) -> dict[str, list[float]]:
    """By kernel the sizes from which on another kind of device is the faster one; empty where one always is."""
    world = calibrated_world(node)
    cost = world.physics.cost
    assert isinstance(cost, CalibratedCost)
    found: dict[str, list[float]] = {}
    for kind in cost.kinds:
        curves = {device.name: (device.kind, cost.curves[kind, device.name]) for device in world.cluster.devices}
        ends = [(curve.size[0], curve.size[-1]) for _, curve in curves.values()]
        sizes = np.geomspace(max(low for low, _ in ends), min(high for _, high in ends), STEPS)
        seconds = {name: np.add(*cost.times_on(name, kind, sizes)) for name in curves}
        names = list(curves)
        fastest = [curves[names[i]][0] for i in np.argmin([seconds[name] for name in names], axis=0)]
        changes = [i for i in range(1, STEPS) if fastest[i] != fastest[i - 1]]
        found[kind] = [float(sizes[i]) for i in changes]
    return found


def judged(document: dict[str, Any]) -> list[tuple[str, bool]]:
    """Every limit with what was found, and whether it holds."""
    errors = document["errors"]
    far = {
        name: ", ".join(f"{words} {errors[name][metric]['of_means']:+.1%}" for metric, words in JUDGED_BY.items())
        for name in RIVALS
        if any(abs(errors[name][metric]["of_means"]) > TOLERANCE for metric in JUDGED_BY)
    }
    words = f"twin within {TOLERANCE:.0%} for {len(RIVALS) - len(far)} of {len(RIVALS)} (at least {LEAST_NEAR})"
    words += "".join(f"; {name}: {by_how_much}" for name, by_how_much in far.items())
    verdicts = [(words, len(RIVALS) - len(far) >= LEAST_NEAR)]
    tau = document["kendall_tau"]
    strict = document["kendall_tau_strict"]
    words = f"Kendall's τ {tau:.2f} (at least {LEAST_TAU:g}; by the means alone {strict:.2f})"
    verdicts.append((words, tau >= LEAST_TAU))
    failed = sum(figures["failed"]["mean"] for figures in document["schedulers"].values())
    verdicts.append((f"tasks that failed for real: {failed:g} per seed (none)", failed == 0.0))
    real = {name: figures["avg_response"]["mean"] for name, figures in document["schedulers"].items()}
    for other in ("mct", *CONSTANT) if CONSTANT[0] in real else ():
        words = f"{OURS} {real[OURS]:.4g} s, {other} {real[other]:.4g} s in real mean response ({OURS} ahead)"
        verdicts.append((words, real[OURS] < real[other]))
    return verdicts


def show(result: ExperimentResult, node: Path) -> bool:
    """Print the table, the crossing points and the verdicts; whether every limit holds."""
    document: dict[str, Any] = result.to_json()
    machine = document["machine"]
    devices = ", ".join(device["name"] for device in document["configuration"]["cluster"]["devices"])
    print(f"{machine['system']}, {machine['cores']} cores, devices {devices}; {len(result.seeds)} seeds")
    for kind, sizes in crossings(node).items():
        words = ", ".join(f"{size:.0f}" for size in sizes) or "one kind of device is always the fastest"
        print(f"  {kind:9} crossing at {words}")
    print(f"{'scheduler':14}{'response s':>12}{'twin':>10}{'error':>9}{'makespan s':>12}{'twin':>10}{'error':>9}")
    for name, figures in document["schedulers"].items():
        row = f"{name:14}"
        for metric in ("avg_response", "makespan"):
            own, twin = figures[metric]["mean"], figures[f"predicted_{metric}"]["mean"]
            row += f"{own:12.4g}{twin:10.4g}{twin / own - 1.0:+9.1%}"
        print(row)
    verdicts = judged(document)
    for words, holds in verdicts:
        print(f"{'ok    ' if holds else 'MISSED'} {words}")
    return all(holds for _, holds in verdicts)


def main() -> int:
    """Calibrate, run, judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--train-tasks", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--load", type=float, default=0.6)
    parser.add_argument("--lanes", type=int)
    parser.add_argument("--cluster", type=Path)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--out", type=Path, default=Path("data/results/reality"))
    given = parser.parse_args()
    experiment = Reality(
        tasks=given.tasks,
        train_tasks=given.train_tasks,
        rounds=given.rounds,
        load=given.load,
        cpu_lanes=given.lanes,
        cluster=given.cluster,
        sizes=given.sizes,
    )
    given.out.mkdir(parents=True, exist_ok=True)
    result = run_experiment(experiment, range(1, given.seeds + 1), folder=given.out, say=print)
    write_result(result, given.out)
    if not missing_extras():
        write_report(open_run(given.out))
    holds = show(result, given.cluster or given.out / "node.yaml")
    print(f"took {result.wall_seconds:.0f} s, wrote in {given.out}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
