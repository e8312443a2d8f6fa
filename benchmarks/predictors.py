"""The two predictors of `hybrid_ml` side by side: how well they predict, what that is worth, what it costs.

    python benchmarks/predictors.py                 # about ten minutes
    python benchmarks/predictors.py --seeds 1 --tasks 2000

R² is of the log seconds of tasks that neither has seen; responses are from races against the same tasks, with refreshes
on, relative to `mct`, which is told the nominal times. Milliseconds are of the process.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import feature_matrix
from hybrid_scheduler.learning.forest.time_model import PREDICTORS, log_seconds, score
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.mct import MinimumCompletionTime
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

SPEEDS = (1.0, 1.0, 2.0, 0.5)
UNLIKE = (Device("cpu_0", "cpu"), *(Device(f"gpu_{i}", "gpu", speed=s, bandwidth=4000.0) for i, s in enumerate(SPEEDS)))
WORLDS = {
    "default": World(),
    "unlike GPUs, noise 0.2": World(ClusterSpec(UNLIKE), Physics(cost=FormulaCost("amdahl"), noise=0.2)),
}
LOADS = (0.3, 0.6, 0.8)


class Timed(HybridML):
    """Notes how long its refreshes take."""

    def _refresh(self, reason: str) -> None:
        began = time.process_time()
        super()._refresh(reason)
        self.refresh_seconds = getattr(self, "refresh_seconds", 0.0) + time.process_time() - began


def response(race: Race, scheduler: Scheduler) -> float:
    return float(race.counted(race.run(scheduler)).response_time.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--tasks", type=int, default=8000, help="per race; the first half is not counted")
    parser.add_argument("--train", type=int, default=10_000, help="labelled tasks to train on")
    given = parser.parse_args()
    for title, world in WORLDS.items():
        print(f"\n{title}: trained on {given.train} tasks, {given.seeds} seeds, {given.tasks} tasks a race")
        heads = "".join(f"{f'response {load}':>14}" for load in LOADS)
        print(f"{'predictor':<10}{'R²':>9}{'MAE s':>9}{heads}{'refits':>8}{'checks':>8}{'fit s':>7}{'refresh ms':>12}")
        for predictor in PREDICTORS:
            rows = np.array([measured(predictor, world, seed, given.tasks, given.train) for seed in range(given.seeds)])
            mean = rows.mean(axis=0)
            ratios = "".join(f"{ratio:>14.3f}" for ratio in mean[2:5])
            print(
                f"{predictor:<10}{mean[0]:>9.5f}{mean[1]:>9.4f}{ratios}{mean[5]:>8.0f}{mean[6]:>8.0f}{mean[7]:>7.2f}"
                f"{mean[8]:>12.1f}",
                flush=True,
            )


def measured(predictor: str, world: World, seed: int, tasks: int, train: int) -> list[float]:
    """R², MAE, response over mct's at every load, refits, refreshes, seconds to fit, milliseconds per refresh."""
    labels = world.timed(WorkloadGenerator(1000 + seed).generate("mixed", train, 1.0), 1000 + seed).labels()
    unseen = world.timed(WorkloadGenerator(2000 + seed).generate("mixed", 4000, 1.0), 2000 + seed).labels()
    figures: list[float] = []
    responses: list[float] = []
    refits, checks, seconds, fit_seconds = 0, 0, 0.0, 0.0
    for load in LOADS:
        scheduler = Timed(energy_weight=0.0, predictor=predictor, seed=seed)
        scheduler.fit(labels)  # the first compiles
        began = time.process_time()
        scheduler.fit(labels)
        fit_seconds = time.process_time() - began
        assert scheduler.model is not None
        figures = list(score(log_seconds(unseen.seconds), scheduler.model.predict(feature_matrix(unseen.tasks))))
        stream = WorkloadGenerator(seed).generate("mixed", tasks, load * capacity("mixed", world))
        race = Race(stream, world, seed=seed, warmup=tasks // 2)
        responses.append(response(race, scheduler) / response(race, MinimumCompletionTime()))
        refits, checks = refits + scheduler.refits, checks + scheduler.refit_checks
        seconds += scheduler.refresh_seconds
    return [*figures, *responses, refits / len(LOADS), checks / len(LOADS), fit_seconds, 1e3 * seconds / checks]


if __name__ == "__main__":
    main()
