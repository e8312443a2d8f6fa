"""A comparison: what is in its document, and what it leaves of the schedulers and the memory."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.engine import race as race_module
from hybrid_scheduler.engine.compare import Comparison, _few, gaps
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model import ClusterView, Decision, InvalidInputError, Outcome, OutcomeBatch, Task, TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("cpu_only", "gpu_only", "mct", "oracle")


def contestants(*names: str) -> dict[str, Scheduler]:
    return {name: create_scheduler(name) for name in names or NAMES}


def workload(count: int = 300, **options: Any) -> TaskBatch:
    return WorkloadGenerator(5).generate("mixed", count, 20.0, **options)


class Counting(Scheduler):
    """Sends everything to the CPU and counts what it is told."""

    def __init__(self) -> None:
        self.refits = 0
        self.decided = 0

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.decided += 1
        return Decision.whole(0)

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.refits += 1


def test_figures_are_those_of_the_race() -> None:
    tasks = workload()
    result = Comparison(tasks, contestants(), seed=3, warmup=50).run()
    race = Race(tasks, seed=3, warmup=50)
    for name in NAMES:
        outcomes = race.run(create_scheduler(name))
        assert result.schedulers[name].metrics == summarise(outcomes, warmup=race.warmup)
        assert result.lower_bound == race.lower_bound(outcomes)


def test_gaps_are_what_was_reached_above_the_bound_of_the_same_tasks() -> None:
    result = Comparison(workload(), contestants(), seed=3, warmup=50).run()
    bound = result.lower_bound
    assert bound is not None
    for figures in result.to_json()["schedulers"].values():  # type: ignore[attr-defined]
        assert figures["gap"] == {
            "makespan": pytest.approx(figures["makespan"] / bound.makespan - 1.0),
            "avg_response": pytest.approx(figures["avg_response"] / bound.avg_response - 1.0),
        }
        assert min(figures["gap"].values()) >= 0.0
    assert gaps({"makespan": 2.0, "avg_response": None}, bound)["avg_response"] is None
    assert gaps({"makespan": 2.0, "avg_response": 1.0}, None) == {"makespan": None, "avg_response": None}
    assert gaps({"makespan": 2.0}, LowerBound(0.0, 0.0))["makespan"] is None


def test_the_document_is_json_and_complete() -> None:
    comparison = Comparison(workload(), contestants(), seed=3, source={"preset": "mixed", "arrival_rate": 20.0})
    document = json.loads(json.dumps(comparison.run().to_json(), allow_nan=False))
    assert list(document) == ["seed", "workload", "cluster", "lower_bound", "schedulers", "wall_seconds"]
    assert document["workload"] == {
        "preset": "mixed", "arrival_rate": 20.0, "tasks": 300, "warmup": 0, "isolated": False,
    }  # fmt: skip
    assert document["cluster"]["devices"][0]["memory_mb"] is None
    assert document["cluster"]["devices"][1]["memory_mb"] == 8000
    assert document["cluster"]["physics"]["cost"] == "cloud"
    assert set(document["lower_bound"]) == {"makespan", "avg_response"}
    assert list(document["schedulers"]) == list(NAMES)
    assert "refits" not in document["schedulers"]["mct"]


def test_learners_say_how_often_they_learned_and_start_fresh() -> None:
    """The rehearsal before the clock starts is done by a clone: it must not teach the contestant anything."""
    scheduler = Counting()
    result = Comparison(workload(40), {"counting": scheduler}).run()
    assert scheduler.decided == 40
    figures = result.to_json()["schedulers"]["counting"]  # type: ignore[index]
    assert figures["refits"] == 40
    assert "updates" not in figures


def test_decisions_are_timed_per_decision_and_reported() -> None:
    told: list[tuple[str, int]] = []
    result = Comparison(workload(40), contestants("mct", "oracle")).run(lambda name, made: told.append((name, made)))
    assert told[-1] == ("oracle", 40)
    assert ("mct", 40) in told
    for each in result.schedulers.values():
        assert 0 < each.decision_us * 40 / 1e6 < result.wall_seconds


@pytest.mark.slow
def test_outcomes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most two schedulers' outcomes are alive at a time: those being summarised and those being made."""
    alive: list[weakref.ref[OutcomeBatch]] = []
    most = 0
    run = Race.run

    def watched(self: Race, *args: Any, **options: Any) -> OutcomeBatch:
        nonlocal most
        outcomes = run(self, *args, **options)
        alive.append(weakref.ref(outcomes))
        gc.collect()
        most = max(most, sum(each() is not None for each in alive))
        return outcomes

    monkeypatch.setattr(race_module.Race, "run", watched)
    Comparison(workload(20), contestants("round_robin", "random", "greedy", *NAMES)).run()
    assert len(alive) == 14
    assert most <= 2


def test_the_bound_holds_for_everybody_when_different_tasks_fail() -> None:
    """cpu_only finishes everything, gpu_only only what fits; the bound must be below both."""
    cluster = ClusterSpec.default(2, memory_per_gpu=60.0)
    physics = Physics(memory_policy="fail")
    result = Comparison(workload(), contestants("cpu_only", "gpu_only"), World(cluster, physics)).run()
    finished = {name: each.metrics for name, each in result.schedulers.items()}
    assert finished["cpu_only"]["failed"] == 0
    assert 0 < finished["gpu_only"]["failed"] < 300  # type: ignore[operator]
    assert result.lower_bound is not None
    for metrics in finished.values():
        assert metrics["makespan"] >= result.lower_bound.makespan > 0  # type: ignore[operator]
        assert metrics["avg_response"] >= result.lower_bound.avg_response > 0  # type: ignore[operator]


def test_no_data_when_nothing_finished() -> None:
    cluster = ClusterSpec.default(0).with_disturbances([Disturbance(0.0, "cpu_0", 0.0)])
    result = Comparison(workload(5), contestants("mct"), World(cluster)).run()
    assert result.lower_bound is None
    document = result.to_json()
    assert document["lower_bound"] == {"makespan": None, "avg_response": None}
    assert result.schedulers["mct"].metrics["failed"] == 5
    assert result.schedulers["mct"].metrics["avg_response"] is None


def test_tables_and_graphs_rehearse_too() -> None:
    tasks = workload(30, dependency_prob=0.6)
    seconds = np.column_stack([tasks.duration_estimate, tasks.duration_estimate / 2])
    cost = TableCost(seconds, tuple(tasks.task_id.tolist()), ("cpu_0", "gpu_0"))
    result = Comparison(tasks, contestants(), World(ClusterSpec.default(1), Physics(cost))).run()
    assert result.to_json()["cluster"]["physics"]["model"] == "table"  # type: ignore[index]
    assert all(each.metrics["tasks"] == 30 for each in result.schedulers.values())


def test_the_rehearsal_is_small_and_of_the_same_kind() -> None:
    plain, graph = _few(workload(100)), _few(workload(100, dependency_prob=0.5))
    assert len(plain) == len(graph) == 8
    assert not plain.has_dependencies
    assert [graph.dependencies_of(i) for i in range(8)] == [(), *((i,) for i in range(7))]
    assert len(_few(workload(3))) == 3


def test_bad_comparisons() -> None:
    with pytest.raises(InvalidInputError, match="no schedulers"):
        Comparison(workload(5), {})
    with pytest.raises(InvalidInputError, match="warmup is 5"):
        Comparison(workload(5), contestants("mct"), warmup=5).run()
