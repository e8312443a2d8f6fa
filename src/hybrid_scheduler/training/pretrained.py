"""The small trained models that travel with the package, so that a first race has good learners in seconds.

    python -m hybrid_scheduler.training.pretrained      # makes them anew, from a fixed seed; some minutes

They are made for the default node (1 CPU, 4 GPUs) and its default physics, on `mixed` tasks at loads from light to
heavy, and go on learning from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

MODELS = {"rl_agent": "rl_agent.pth", "hybrid_ml": "hybrid_ml.npz", "static_forest": "hybrid_ml.npz"}
"""The packaged model of each learner; the control that is never refreshed starts from the same forest."""
FOREST = {"n_estimators": 16, "max_depth": 11, "min_samples_leaf": 8, "memory": 2000}
"""A forest small enough to travel."""
SEED = 20_261_115
TASKS = 60_000
LOADS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8)


def fits_package(cluster: ClusterSpec) -> bool:
    """Whether the packaged models were made for such a node: the default one, as far as a scheduler can see."""
    return np.array_equal(cluster.public_table(), ClusterSpec.default().public_table(), equal_nan=True)


def load_pretrained(learner: Learner, name: str, cluster: ClusterSpec) -> bool:
    """Continue from the packaged model of this name; False, and nothing changed, when there is none that fits."""
    if name not in MODELS or not fits_package(cluster):
        return False
    found = files("hybrid_scheduler.training") / "models" / MODELS[name]
    if not found.is_file():
        return False
    with as_file(found) as path:
        learner.load_model(path)
    return True


def training_stream(tasks: int = TASKS, seed: int = SEED) -> TaskBatch:
    """`mixed` tasks whose arrival rate changes from light to heavy and back, several times over."""
    drawn = WorkloadGenerator(seed).generate("mixed", tasks, 1.0)
    most = capacity("mixed", ClusterSpec.default(), Physics().cost)
    steps = 4 * len(LOADS)
    loads = np.array([LOADS[i % len(LOADS)] for i in range(steps)])
    each = loads[np.arange(tasks) * steps // tasks]
    gaps = np.diff(drawn.arrival_time, prepend=0.0) / (each * most)
    return drawn.with_arrivals(np.cumsum(gaps))


def make_models(folder: Path, say: Callable[[str], object]) -> None:
    """Train and write every packaged model."""
    tasks, cluster, physics = training_stream(), ClusterSpec.default(), Physics()
    for name, parameters in (("hybrid_ml", FOREST), ("rl_agent", {})):
        learner = create_scheduler(name, SEED, **parameters)
        assert isinstance(learner, Learner)
        train_scheduler(learner, tasks, cluster, physics, seed=SEED)
        path = folder / MODELS[name]
        learner.save_model(path, **({"replay": False} if name == "rl_agent" else {}))
        path.chmod(0o644)  # it travels with the package, for everybody
        say(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    make_models(Path(__file__).parent / "models", sys.stdout.write)
