"""Packaged models: learners continue from them where they fit, so that a first race has good ones in seconds.

    python -m hybrid_scheduler.training.pretrained               # makes all anew, from fixed seeds; about ten minutes
    python -m hybrid_scheduler.training.pretrained rl_agent      # one of them

The forest is made for the default node (1 CPU, 4 GPUs) and its default physics, on `mixed` tasks at loads from light to
heavy; the agent for every node and objective (`training.any_node`). Both go on learning from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.learning.packaged import FOLDER, fits_node, write_node
from hybrid_scheduler.model.errors import UnknownNameError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import RecordedTasks, Scenario
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.training.any_node import meet_default_node, train_on_nodes
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

FOREST = {"n_estimators": 16, "max_depth": 11, "min_samples_leaf": 8, "reservoir": 2000}
"""A forest small enough to travel."""
SEED = 20_261_115
TASKS = 60_000
MEETING = 3000
"""Tasks by which the agent learns the times of the default node."""
LOADS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8)
NAMES = ("hybrid_ml", "rl_agent")
AGENT_RATE = 1e-3
"""At which the agent learns what travels; whoever continues from it learns at a rate of its own."""


def fits_package(cluster: ClusterSpec) -> bool:
    """Whether every model of this package fits such a node: the default one, as far as a scheduler can see."""
    return fits_node(cluster.public_table())


def load_pretrained(learner: Learner, world: World) -> bool:
    """Continue from the learner's packaged model; False, and nothing changed, when it has none that fits.

    Raises:
        InvalidInputError: The packaged model is damaged or missing.
        SchedulerError: The learner failed.
    """
    with named_failures(learner):
        path = learner.packaged_model(idle_view(world))
        if path is None:
            return False
        learner.load_model(path)
    return True


def idle_view(world: World) -> ClusterView:
    """What a scheduler sees of a node on which nothing has happened yet."""
    return ClusterView(0, 0.0, world.public_table(), world.physics.facts(), world.cluster.names)


def training_stream(tasks: int = TASKS, seed: int = SEED) -> TaskBatch:
    """`mixed` tasks whose arrival rate changes from light to heavy and back, several times over."""
    drawn = WorkloadGenerator(seed).generate("mixed", tasks, 1.0)
    most = capacity("mixed", World())
    steps = 4 * len(LOADS)
    loads = np.array([LOADS[i % len(LOADS)] for i in range(steps)])
    each = loads[np.arange(tasks) * steps // tasks]
    gaps = np.diff(drawn.arrival_time, prepend=0.0) / (each * most)
    return drawn.with_arrivals(np.cumsum(gaps))


def make_forest() -> Learner:
    """The forest, and a note of the node it is for."""
    scenario = Scenario(RecordedTasks(training_stream()), seed=SEED)
    write_node(scenario.world.cluster.public_table())
    forest = create_scheduler("hybrid_ml", SEED, **FOREST)
    assert isinstance(forest, Learner)
    train_scheduler(forest, scenario)
    return forest


def make_models(names: Sequence[str], say: Callable[[str], object]) -> None:
    """Train and write packaged models: `hybrid_ml`, `rl_agent`, or both."""
    for name in names:
        path = FOLDER / name
        if name == "hybrid_ml":
            path = path.with_suffix(HybridML.model_suffix)
            make_forest().save_model(path)
        elif name == "rl_agent":
            agent = DQNScheduler(energy_weight=0.0, learning_rate=AGENT_RATE, seed=SEED, pretrained=False)
            train_on_nodes(agent, say=say)
            meet_default_node(agent, training_stream(MEETING))
            path = path.with_suffix(agent.model_suffix)
            agent.save_model(path, replay=False)
        else:
            raise UnknownNameError("packaged model", name, NAMES)
        path.chmod(0o644)  # it travels with the package, for everybody
        say(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    make_models(sys.argv[1:] or NAMES, sys.stdout.write)
