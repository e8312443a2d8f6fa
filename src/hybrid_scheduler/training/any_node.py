"""Training an agent for any node: many short races, each on another random node, at another load, for other goals.

The nodes and tasks have seeds of their own (`SEED` and up), which no benchmark, experiment or claim uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.random_nodes import random_world
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity_of_tasks

SEED: Final = 20_261_115
RACES: Final = 480
TASKS: Final = 1000
"""Of each race."""
LOADS: Final = (0.2, 0.95)
PRESETS: Final = ("mixed", "mixed", "mixed", "mixed", "mixed", "mixed", "mixed", "mixed", "bursty", "uniform")
"""One of these is drawn."""
DEFAULT_EVERY: Final = 8
"""One race of so many is on the default node."""
TIME_ALONE: Final = 0.6
"""Share of the races in which nothing but time counts; in the others the weights are drawn."""
SAMPLE: Final = 20_000
"""Tasks by which the capacity of a node is measured."""
AVERAGED: Final = 0.4
"""The weights of the end are the mean of those after each of the last races, this share of all."""
CAPACITY: Final = 60_000
"""Transitions remembered while training: those of many nodes."""


@dataclass(frozen=True)
class Lesson:
    """One race of the training.

    Attributes:
        world: The node.
        tasks: Its tasks.
        goals: What counts.
        seed: Of tasks and node.
    """

    world: World
    tasks: TaskBatch
    goals: Objective
    seed: int


def lessons(races: int = RACES, tasks: int = TASKS, seed: int = SEED) -> Iterator[Lesson]:
    """The races of a training, in order."""
    rng = np.random.default_rng(seed)
    for number in range(races):
        world = World() if number % DEFAULT_EVERY == 0 else random_world(seed + number)
        load, preset = float(rng.uniform(*LOADS)), PRESETS[int(rng.integers(len(PRESETS)))]
        weights = rng.dirichlet(np.ones(3)) if rng.random() >= TIME_ALONE else (1.0, 0.0, 0.0)
        source = WorkloadGenerator(seed + number)
        most = capacity_of_tasks(source.generate(preset, SAMPLE, 1.0), world)
        drawn = source.generate(preset, tasks, load * most)
        yield Lesson(world, drawn, Objective(*(float(weight) for weight in weights)), seed + number)


def train_on_nodes(
    agent: DQNScheduler,
    *,
    races: int = RACES,
    tasks: int = TASKS,
    seed: int = SEED,
    say: Callable[[str], object] | None = None,
) -> None:
    """Train an agent in place on many nodes.

    Args:
        agent: One that has not learned anything yet and is not to go on from the packaged one (`pretrained=False`).
        races: How many nodes.
        tasks: Tasks of each race.
        seed: Of nodes, tasks, loads and goals.
        say: Told now and then which race it is, how many devices its node has, and the loss.
    """
    agent.begin_training(races * tasks, remembered=CAPACITY)
    goals = agent.goals
    for number, lesson in enumerate(lessons(races, tasks, seed)):
        agent.begin_node(lesson.goals)
        Race(lesson.tasks, lesson.world, seed=lesson.seed).run(agent)
        if number >= (1.0 - AVERAGED) * races:
            agent.keep_weights()
        if say is not None and number % 10 == 0:
            loss = agent.figures()["loss"]
            say(f"race {number} of {races}: {len(lesson.world.cluster.devices)} devices, loss {loss or 0.0:.3g}\n")
    agent.begin_node(goals)
    agent.average_weights()
    agent.end_training()


def meet_default_node(agent: DQNScheduler, stream: TaskBatch) -> None:
    """Let a trained agent learn the times of the default node, as a first guess wherever a node looks like it."""
    Race(stream, World(), seed=SEED).run(agent)
    agent.doubt_node()
