"""What the learners are worth: every claim about them, over several seeds, with the command that makes each row.

    python benchmarks/learning.py                      # all of it: about an hour on two cores
    python benchmarks/learning.py --parts mixed --seeds 2
    python benchmarks/learning.py --parts cold,forest,policy

Each row of `mixed`, `other` and `cold` is one `hms compare` per seed; the table shows ratios to a reference of the same
run, mean and 95 % interval (Student t) over the seeds. `shift` is an experiment of its own: `hms experiment shift`.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy import stats

from hybrid_scheduler.physics.world import World

LOADS = (0.3, 0.6, 0.8)
OTHER_WORLD = """
devices:
  - {name: cpu_0, kind: cpu}
  - {name: gpu_0, kind: gpu, bandwidth: 4000, speed: 1.0}
  - {name: gpu_1, kind: gpu, bandwidth: 4000, speed: 1.0}
  - {name: gpu_2, kind: gpu, bandwidth: 4000, speed: 2.0}
  - {name: gpu_3, kind: gpu, bandwidth: 4000, speed: 0.5}
"""
COLUMNS = (("avg_response", "response"), ("p99_response", "p99"), ("makespan", "makespan"))


def hms(*arguments: str) -> dict[str, dict[str, dict[str, float]]]:
    """One run of the command line; its JSON document."""
    code = "import sys; from hybrid_scheduler.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *arguments, "--json", "-"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"hms {' '.join(arguments)}: {done.stderr}")
    document: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout)
    return document


def interval(values: list[float]) -> str:
    """Mean and 95 % interval."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.3f}"
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return f"{mean:.3f} ± {half:.3f}"


def compare_table(title: str, arguments: list[str], loads: tuple[float, ...], seeds: list[int], jobs: int) -> None:
    """Learners over the oracle, for every load."""
    print(f"\n{title}\nhms compare {' '.join(arguments)} --load L --seed S, seeds {seeds}; ratios to the oracle")
    print(f"{'load':>5} {'scheduler':<10}" + "".join(f" {name:>16}" for _, name in COLUMNS), flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        runs = {
            (load, seed): pool.submit(hms, "compare", *arguments, "--load", str(load), "--seed", str(seed))
            for load in loads
            for seed in seeds
        }
        for load in loads:
            documents = [runs[load, seed].result()["schedulers"] for seed in seeds]
            for name in documents[0]:
                if name == "oracle":
                    continue
                cells = [interval([d[name][key] / d["oracle"][key] for d in documents]) for key, _ in COLUMNS]
                print(f"{load:>5} {name:<10}" + "".join(f" {cell:>16}" for cell in cells), flush=True)


def mixed(seeds: list[int], jobs: int) -> None:
    """The default world: learners trained on 40 000 tasks."""
    names = "rl_agent,hybrid_ml,mct,gpu_only,cpu_only,oracle"
    counts = ["--tasks", "20000", "--warmup", "10000", "--train-tasks", "40000", "--energy-weight", "0"]
    compare_table("Default world", ["--preset", "mixed", *counts, "--schedulers", names], LOADS, seeds, jobs)


def other(seeds: list[int], jobs: int) -> None:
    """A world nobody tuned for."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster.yaml"
        cluster.write_text(OTHER_WORLD)
        names = "rl_agent,hybrid_ml,mct,gpu_only,cpu_only,oracle"
        counts = ["--tasks", "20000", "--warmup", "10000", "--train-tasks", "40000", "--energy-weight", "0"]
        world = ["--cluster", str(cluster), "--speedup", "amdahl", "--noise", "0.2"]
        title = "Another world: amdahl, bandwidth 4000, GPUs of speed 1, 1, 2, 0.5, noise 0.2"
        compare_table(title, ["--preset", "mixed", *counts, *world, "--schedulers", names], LOADS, seeds, jobs)


def cold(seeds: list[int], jobs: int) -> None:
    """No training at all, counted from task 2000 on."""
    arguments = ["--preset", "mixed", "--tasks", "12000", "--warmup", "2000", "--train-tasks", "0"]
    names = ["--energy-weight", "0", "--schedulers", "rl_agent,hybrid_ml,mct,gpu_only,oracle"]
    compare_table("Cold start", [*arguments, *names], (0.6,), seeds, jobs)


def forest(seeds: list[int], jobs: int) -> None:
    """The forest that predicts the optimal fraction."""
    from hybrid_scheduler.training.offline import OfflineTrainer
    from hybrid_scheduler.workloads import WorkloadGenerator

    print("\nForest on 10 000 labelled mixed tasks, target optimal fraction")
    results = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            tasks = WorkloadGenerator(seed).generate("mixed", 10_000, 10.0)
            report = OfflineTrainer("random_forest", seed=seed).run_full_pipeline(tasks, Path(folder) / "model.pkl")
            results.append(report)
    for key in ("test_r2", "mae", "cv_r2_mean"):
        print(f"{key:>12} {interval([r['training_results'][key] for r in results])}")
    print("  importances", {k: round(v, 3) for k, v in results[0]["feature_importances"].items()})


def policy(seeds: list[int], jobs: int) -> None:
    """Whether a learner hides a constant policy: where its tasks go, and what that depends on."""
    from hybrid_scheduler.engine.race import Race
    from hybrid_scheduler.scenario import RecordedTasks, Scenario
    from hybrid_scheduler.schedulers.registry import create_scheduler
    from hybrid_scheduler.training.train import train_scheduler
    from hybrid_scheduler.workloads import WorkloadGenerator
    from hybrid_scheduler.workloads.capacity import capacity

    world, seed = World(), seeds[0]
    rate = 0.6 * capacity("mixed", world)
    training = WorkloadGenerator(seed + 1000).generate("mixed", 20_000, rate)
    tasks = WorkloadGenerator(seed).generate("mixed", 10_000, rate)
    race = Race(tasks, world, seed=seed)
    print("\nWhere tasks go at load 0.6: share of work on each device, and mean GPU fraction by tercile")
    for name in ("rl_agent", "hybrid_ml", "oracle"):
        scheduler = create_scheduler(name, seed)
        train_scheduler(scheduler, Scenario(RecordedTasks(training), world, seed=seed + 1000))
        outcomes = race.run(scheduler)
        devices = np.bincount(outcomes.part_device, weights=outcomes.part_share, minlength=5) / len(tasks)
        print(f"{name:>10} " + "  ".join(f"{n} {s:.3f}" for n, s in zip(world.cluster.names, devices, strict=True)))
        on_gpu = outcomes.part_device > 0
        fraction = np.bincount(outcomes.part_task[on_gpu], weights=outcomes.part_share[on_gpu], minlength=len(tasks))
        busy = np.array(
            [(outcomes.finish_time[max(0, i - 200) : i] > t).sum() for i, t in enumerate(tasks.arrival_time)]
        )
        seen = {"size": tasks.size, "intensity": tasks.compute_intensity, "memory": tasks.memory_required}
        for what, values in {**seen, "tasks in system": busy}.items():
            thirds = np.array_split(np.argsort(values, kind="stable"), 3)
            means = ", ".join(f"{fraction[rows].mean():.3f}" for rows in thirds)
            rank = stats.spearmanr(values, fraction).statistic
            print(f"{'':>10}   by {what:<16} {means}   rank correlation {rank:+.3f}", flush=True)


PARTS = {"mixed": mixed, "other": other, "cold": cold, "forest": forest, "policy": policy}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="which tables, comma-separated")
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1 to K")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options = parser.parse_args()
    began = time.perf_counter()
    for part in options.parts.split(","):
        PARTS[part](list(range(1, options.seeds + 1)), options.jobs)
    print(f"\ntook {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
