"""Learners on task graphs: what they see of them, that what they decide is legal, and that it helps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.actions import queue_price, queues_with_data
from hybrid_scheduler.learning.order.network import GRAPH
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.model.device_columns import BACKLOG
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.hybrid_queue import HybridQueue
from hybrid_scheduler.schedulers.mct import MinimumCompletionTime
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.testing.race import CheckedRace
from hybrid_scheduler.training.pretrained import idle_view, load_pretrained
from hybrid_scheduler.workloads import WorkloadGenerator

LEARNERS = ("hybrid_ml", "hybrid_queue", "rl_agent")
NODE = World(ClusterSpec((*(Device(f"cpu_{i}", "cpu") for i in range(3)), Device("gpu_0", "gpu"))))
"""Few fast devices for a wide graph, so that it matters what they are given first."""


@cache
def graph(preset: str = "cholesky:tiles=8", seed: int = 5) -> TaskBatch:
    return WorkloadGenerator(seed).generate(preset, 1)


def learner(name: str, **parameters: object) -> Learner:
    made = create_scheduler(name, 0, energy_weight=0.0, **parameters)
    assert isinstance(made, Learner)
    return made


@cache
def _labels_of_another_graph() -> Race:
    return Race(graph("cholesky:tiles=6", 77), NODE, seed=77)


def trained_queue() -> HybridQueue:
    queue = HybridQueue(energy_weight=0.0)
    queue.fit(_labels_of_another_graph().timed.labels())
    return queue


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("preset", ["cholesky:tiles=5", "layered:layers=6,width=6"])
def test_what_learners_decide_about_graphs_is_legal(name: str, preset: str) -> None:
    outcomes = CheckedRace(graph(preset)).run(learner(name))
    assert not outcomes.failed.any()


@pytest.mark.parametrize("name", LEARNERS)
def test_compiled_or_not_learners_decide_alike_about_graphs(name: str) -> None:
    parameters: dict[str, object] = {"learning": False} if name == "rl_agent" else {"use_labels": False}
    results = []
    for compiled in (True, False):
        made = learner(name, **parameters)
        assert load_pretrained(made, World())
        results.append(Race(graph("cholesky:tiles=6")).run(made, compiled=compiled).finish_time)
    assert np.array_equal(results[0], results[1])


def test_a_task_of_a_graph_carries_its_rank_and_no_other_does() -> None:
    """0 -> 1 -> 2, and 3 by itself; nothing is learned yet, so that chains count by their tasks."""
    tasks = [Task(0, 500, 0.5, 10), Task(1, 900, 0.5, 10, dependencies=(0,)), Task(2, 500, 0.5, 10, dependencies=(1,))]
    seen: dict[int, float] = {}

    class Watching(HybridQueue):
        def dispatch(self, waiting, view):  # type: ignore[no-untyped-def]
            seen.update((task.task_id, task.upward_rank) for task in waiting)
            return super().dispatch(waiting, view)

    Race(TaskBatch.from_tasks([*tasks, Task(3, 500, 0.5, 10)])).run(Watching(), compiled=False)
    assert seen == pytest.approx({0: 1.0, 1: 2 / 3, 2: 1 / 3, 3: 0.0})


def test_ordinary_tasks_do_not_know_what_counts_for_graphs() -> None:
    stream = WorkloadGenerator(3).generate("mixed", 400, 5.0)
    plain, other = HybridQueue(), HybridQueue()
    other.kernel_state()[GRAPH:] = 1e3
    assert np.array_equal(Race(stream).run(plain).finish_time, Race(stream).run(other).finish_time)


def test_what_is_critical_first_helps_the_learned_queue() -> None:
    """Against the same queue, same forest, without the weights of graphs; and it is ahead of `mct` with estimates."""
    race = Race(graph(), NODE)
    without = trained_queue()
    without.kernel_state()[GRAPH:] = 0.0
    ranked, plain = (race.run(queue).finish_time.max() for queue in (trained_queue(), without))
    assert ranked < 0.97 * plain
    assert ranked < 1.02 * race.run(MinimumCompletionTime()).finish_time.max()


def test_the_forest_tells_kernels_apart() -> None:
    race = Race(graph(), NODE)
    queue, seconds = trained_queue(), race.timed.nominal.sum(axis=1)
    for position in range(12):
        expected = queue.explain(race.tasks[position], idle_view(race.world)).seconds
        assert expected is not None
        assert expected == pytest.approx(seconds[position], rel=0.1)


def test_a_live_graph_has_the_ranks_of_a_batch() -> None:
    tasks = graph("cholesky:tiles=4")
    parents = {task.task_id: task.dependencies_with_data for task in tasks}
    live = LiveRace({"queue": HybridQueue(energy_weight=0.0)})
    live.add(TaskBatch.from_tasks(replace(task, dependencies=(), dependency_mb=()) for task in tasks), parents)
    batch = Race(tasks).run(HybridQueue(energy_weight=0.0))
    finished = {outcome.task_id: outcome.finish_time for outcome in live.drain().by_scheduler["queue"]}
    assert finished == {outcome.task_id: outcome.finish_time for outcome in batch}


def test_the_price_of_a_queue_falls_with_the_rank() -> None:
    assert queue_price(1.5, 0.0) == 1.5
    assert queue_price(1.5, 0.25) == 1.125
    assert queue_price(1.5, 1.0) == 0.0


def test_a_queue_lasts_until_the_data_is_there() -> None:
    devices = idle_view(NODE).devices.copy()
    devices[:, BACKLOG] = 1.0, 2.0, 3.0, 4.0
    assert queues_with_data(devices, np.zeros((0, 0))) is devices
    data = np.array([[0.0, 9.0, 1.0, 5.0], [0.0] * 4])
    assert queues_with_data(devices, data)[:, BACKLOG].tolist() == [1.0, 9.0, 3.0, 5.0]
    assert devices[:, BACKLOG].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_agent_answers_for_the_time_since_a_task_was_ready() -> None:
    """The last of a chain of sixty is not charged for the fifty-nine before it."""
    chain = [Task(i, 1000, 0.5, 10, dependencies=(i - 1,) if i else ()) for i in range(60)]
    agent = DQNScheduler(energy_weight=0.0)
    outcomes = Race(TaskBatch.from_tasks(chain)).run(agent)
    assert agent._agent is not None
    assert agent._agent.means.response == pytest.approx((outcomes.finish_time - outcomes.ready_time).mean())
    assert agent._agent.means.response < 0.1 * outcomes.response_time.mean()
