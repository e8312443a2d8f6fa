"""Tiled Cholesky factorisation with measured kernel times: makespan over the lower bound.

    python benchmarks/cholesky.py KERNEL_TIMES [--tiles 5,10,15,20] [--schedulers heft,mct] [--json FILE]

KERNEL_TIMES is a table of StarPU kernel times (the format `starpu`). The times are those of `--machine` (sirocco: two
Xeon E5-2680 and four K40m) for tiles of 960 x 960 numbers of 4 bytes; `syrk`, which was not measured there, takes half
as long as `gemm`. The node has 20 CPU cores and 4 GPUs, each behind a link of 10.5 GB/s, as that machine's were
measured. Every dependency brings its tile; the tiles of the matrix itself are where they are needed. Every scheduler
goes through the ordinary race; one that is not registered is left out with a word. The classics are told the measured
times. Learners are not: they care for time alone and were trained before on factorisations of 12 x 12 tiles whose times
scatter by 10 %, a forest on their labels, the agent by racing through eight of them. They may split a task between a
GPU and a core, which no classic does; with `--whole` that takes eleven times as long, so nobody does. Exits non-zero
when the best learner is above `--limit` (1.05) times the best of the others in the mean over the sizes.
"""

from __future__ import annotations

import argparse
import json
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.model.task import sizes_of
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import RecordedTasks, Scenario
from hybrid_scheduler.schedulers.base import LabelLearner, Learner, RaceLearner, Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class, scheduler_names
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.graphs.cholesky import Cholesky
from hybrid_scheduler.workloads.readers.starpu import kernel_seconds

NAMES = "heft,dmda,heteroprio,mct,hybrid_queue,rl_agent"
TILE, BYTES = 960, 4
CORES, GPUS = 20, 4
LINK_MB_PER_SECOND = 10_500.0
TRAINING_TILES, TRAINING_NOISE, TRAINING_SEED, TRAINING_RACES = 12, 0.1, 7000, 8
TILES_OF = {"potrf": 1, "trsm": 2, "syrk": 2, "gemm": 3}


def times_of_kinds(path: Path, machine: str) -> dict[str, tuple[float, float]]:
    """Seconds of each kind of kernel on a core and on a GPU."""
    measured = kernel_seconds(path, machine)
    times = {
        kind: measured[key]
        for kind, tiles in TILES_OF.items()
        if (key := (f"chol_model_{kind}", float(tiles * TILE * TILE * BYTES))) in measured
    }
    if missing := sorted({"potrf", "trsm", "gemm"} - {*times}):
        raise SystemExit(f"{path}: {machine} did not measure {', '.join(missing)} with tiles of {TILE} on both devices")
    if "syrk" not in times:
        times["syrk"] = (times["gemm"][0] / 2, times["gemm"][1] / 2)
    return times


def scenario_of(
    tiles: int, times: dict[str, tuple[float, float]], seed: int, *, whole: bool, noise: float = 0.0
) -> Scenario:
    """One graph on the node. Its sizes follow from the measured times of a core, the intensity is that of the kind."""
    graph = WorkloadGenerator(seed).generate(Cholesky(tiles=tiles, tile=TILE, bytes=BYTES), 1)
    core, gpu = np.array([times[graph.kinds[kind]] for kind in graph.kind_index]).T
    size = sizes_of(core, graph.compute_intensity)
    tasks: TaskBatch = replace(graph, size=size, duration_estimate=core, _position={})
    cores = tuple(Device(f"cpu_{i}", "cpu") for i in range(CORES))
    gpus = tuple(Device(f"gpu_{i}", "gpu", bandwidth=LINK_MB_PER_SECOND, memory_mb=11_520.0) for i in range(GPUS))
    seconds = np.column_stack([*[core] * CORES, *[gpu] * GPUS])
    cluster = ClusterSpec((*cores, *gpus))
    cost = TableCost(seconds, tuple(tasks.task_id.tolist()), cluster.names)
    return Scenario(
        RecordedTasks(tasks, f"cholesky {tiles}x{tiles}"),
        World(cluster, Physics(cost, noise=noise, coexecution_penalty=10.0 if whole else 0.05)),
        seed=seed,
    )


def prepared(name: str, times: dict[str, tuple[float, float]], *, whole: bool) -> Scheduler:
    """A scheduler as it comes to the races: a learner has learned from other graphs of the same kind."""
    if not issubclass(scheduler_class(name), Learner):
        return create_scheduler(name)
    learner = create_scheduler(name, 0, energy_weight=0.0)
    lessons = [
        scenario_of(TRAINING_TILES, times, TRAINING_SEED + number, whole=whole, noise=TRAINING_NOISE)
        for number in range(TRAINING_RACES)
    ]
    if isinstance(learner, LabelLearner):
        train_scheduler(learner, lessons[0])
    elif isinstance(learner, RaceLearner):
        learner.begin_training(sum(len(lesson.batch()) for lesson in lessons))
        for lesson in lessons:
            Race(lesson.batch(), lesson.world, seed=lesson.seed).run(learner)
        learner.end_training()
    return learner


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel_times", type=Path)
    parser.add_argument("--machine", default="sirocco")
    parser.add_argument("--tiles", default="5,10,15,20")
    parser.add_argument("--schedulers", default=NAMES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="splitting a task does not pay")
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--json", metavar="FILE", help="- for standard output")
    options = parser.parse_args()
    said = sys.stderr if options.json == "-" else sys.stdout
    wanted = options.schedulers.split(",")
    names = [name for name in wanted if name in scheduler_names()]
    for name in sorted({*wanted} - {*names}):
        print(f"{name} is left out: no scheduler of that name is registered", file=said)
    times = times_of_kinds(options.kernel_times, options.machine)
    schedulers = {name: prepared(name, times, whole=options.whole) for name in names}
    print(f"{'makespan / bound':<18}" + "".join(f"{name:>14}" for name in names) + f"{'bound s':>12}", file=said)
    sizes: dict[str, dict[str, object]] = {}
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for tiles in map(int, options.tiles.split(",")):
        scenario = scenario_of(tiles, times, options.seed, whole=options.whole)
        race, row, bound = Race(scenario.batch(), scenario.world, seed=scenario.seed), {}, 0.0
        for name, scheduler in schedulers.items():
            outcomes = race.run(deepcopy(scheduler))
            bound = race.lower_bound(outcomes).makespan
            row[name] = float(outcomes.finish_time.max()) / bound
        for name in names:
            ratios[name].append(row[name])
        sizes[f"{tiles}x{tiles}"] = {"bound": bound, "makespan_over_bound": row}
        figures = "".join(f"{row[name]:>14.4f}" for name in names)
        print(f"{f'{tiles}x{tiles}':<18}{figures}{bound:>12.5f}", file=said, flush=True)
    means = {name: float(np.exp(np.mean(np.log(found)))) for name, found in ratios.items()}
    print(f"{'geometric mean':<18}" + "".join(f"{means[name]:>14.4f}" for name in names), file=said)
    learned = [mean for name, mean in means.items() if issubclass(scheduler_class(name), Learner)]
    classic = [mean for name, mean in means.items() if not issubclass(scheduler_class(name), Learner)]
    share = min(learned) / min(classic) if learned and classic else None
    if share is not None:
        print(f"the best learner takes {share:.3f} times as long as the best of the others", file=said)
    document = json.dumps({"geometric_mean": means, "best_learned_over_best_classic": share, "sizes": sizes}, indent=2)
    if options.json == "-":
        print(document)
    elif options.json:
        Path(options.json).write_text(document + "\n", encoding="utf-8")
    return int(share is not None and share > options.limit)


if __name__ == "__main__":
    sys.exit(main())
