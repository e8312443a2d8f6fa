"""The names users of the earlier system know."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import hybrid_scheduler
from hybrid_scheduler import (
    OfflineTrainer,
    OnlineScheduler,
    RandomForestPredictor,
    Task,
    VirtualMultiGPU,
    WorkloadGenerator,
)
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import FEATURE_NAMES, feature_matrix
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import LabelLearner, Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler


def test_importing_the_package_is_light() -> None:
    code = "import sys, hybrid_scheduler; print(sorted(m for m in ('numpy', 'numba', 'pydantic') if m in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_names() -> None:
    assert hybrid_scheduler.__version__ == version("hybrid-ml-scheduler")
    assert {"Task", "VirtualMultiGPU", "WorkloadGenerator", "__version__"} <= set(dir(hybrid_scheduler))
    for name in hybrid_scheduler.__all__:
        assert getattr(hybrid_scheduler, name) is not None
    with pytest.raises(AttributeError, match="NoSuchName"):
        _ = hybrid_scheduler.NoSuchName


def test_baselines_on_a_workload() -> None:
    tasks = WorkloadGenerator(3).generate_workload(num_tasks=200)
    results = VirtualMultiGPU(num_gpus=4, memory_per_gpu=8000).evaluate_baseline_schedulers(tasks)
    assert list(results) == ["round_robin", "random", "greedy"]
    for figures in results.values():
        assert figures["tasks"] == 200
        assert 0 < figures["avg_time"] <= figures["max_time"] <= figures["makespan"]  # type: ignore[operator]
        assert figures["total_time"] == pytest.approx(200 * figures["avg_time"])  # type: ignore[operator]


def test_by_hand() -> None:
    """One task of intensity 0.5, by the formulas of SPEC section 3."""
    task = Task(0, size=1000, compute_intensity=0.5, memory_required=160)
    cpu, gpu = 1.0, 1 / 2.5 + 0.01
    results = VirtualMultiGPU(num_gpus=1).evaluate_baseline_schedulers([task])
    half = 1.05 * max(0.5 * cpu, 0.5 * gpu)
    assert results["greedy"]["makespan"] == pytest.approx(half)
    assert results["round_robin"]["total_time"] == pytest.approx(half)
    without = VirtualMultiGPU(num_gpus=0).evaluate_baseline_schedulers([task])
    assert without["greedy"]["makespan"] == pytest.approx(cpu)


def test_one_task_on_an_idle_node_by_hand() -> None:
    task = Task(0, size=1000, compute_intensity=0.5, memory_required=160, arrival_time=2.0, dependencies=(7,))
    cpu, gpu = 1.0, 1 / 2.5 + 0.01
    node = VirtualMultiGPU(num_gpus=2)
    for fraction, seconds in ((0.0, cpu), (1.0, gpu), (0.8, 1.05 * max(0.2 * cpu, 0.8 / 2.5 + 0.8 * 0.01))):
        outcome = node.simulate(task, fraction, gpu_id=1)
        assert outcome.actual_time == outcome.response_time == pytest.approx(seconds)
        assert outcome.gpu_fraction == pytest.approx(fraction)
        assert outcome.gpu_id == (1 if fraction else None)
    assert node.simulate(task, 1.0).gpu_id == 0
    assert VirtualMultiGPU(0).simulate(task, 0.0).actual_time == pytest.approx(cpu)


@pytest.mark.parametrize(
    ("fraction", "gpu_id", "message"), [(1.1, 0, "is 1.1"), (float("nan"), 0, "nan"), (0.5, 2, "has 2 GPUs")]
)
def test_what_cannot_be_simulated(fraction: float, gpu_id: int, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        VirtualMultiGPU(2).simulate(Task(0, 1000, 0.5, 160), fraction, gpu_id)


def test_memory_matters() -> None:
    tasks = [Task(i, 1000, 1.0, 500) for i in range(3)]
    small = VirtualMultiGPU(2, memory_per_gpu=100).evaluate_baseline_schedulers(tasks)
    large = VirtualMultiGPU(2, memory_per_gpu=1000).evaluate_baseline_schedulers(tasks)
    assert small["greedy"]["utilization"]["gpu_0"]["utilization"] == 0  # type: ignore[index]
    assert large["greedy"]["utilization"]["gpu_0"]["utilization"] > 0  # type: ignore[index]


def test_the_seed_is_that_of_the_random_scheduler() -> None:
    tasks = WorkloadGenerator(3).generate_workload(num_tasks=50)
    node = VirtualMultiGPU()
    assert node.evaluate_baseline_schedulers(tasks, seed=1) == node.evaluate_baseline_schedulers(tasks, seed=1)
    first, second = (node.evaluate_baseline_schedulers(tasks, seed=seed) for seed in (1, 2))
    assert first["random"] != second["random"]
    assert first["greedy"] == second["greedy"]


def test_no_tasks() -> None:
    with pytest.raises(InvalidInputError, match="no tasks"):
        VirtualMultiGPU().evaluate_baseline_schedulers([])
    with pytest.raises(InvalidInputError, match="num_gpus is -1"):
        VirtualMultiGPU(-1)


def fraction_model(tasks: TaskBatch) -> RandomForestPredictor:
    trainer = OfflineTrainer("random_forest", seed=1, n_estimators=10)
    labels = trainer.label(tasks)
    columns = pd.DataFrame(feature_matrix(tasks), columns=list(FEATURE_NAMES))
    model = RandomForestPredictor(n_estimators=10, seed=1)
    model.fit(columns, pd.Series(labels.gpu_fraction, name="gpu_fraction"))
    return model


def test_online_scheduler_places_tasks_and_reports_real_utilization() -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 300, 5.0)
    online = OnlineScheduler(fraction_model(tasks), num_gpus=2)
    assert online.get_utilization() == {
        "average_utilization": 0.0,
        "cpu_0": {"utilization": 0.0},
        "gpu_0": {"utilization": 0.0},
        "gpu_1": {"utilization": 0.0},
    }
    for task in tasks[:100]:
        online.submit_task(task)
    first = online.process_queue()
    assert sorted(first) == [task.task_id for task in tasks[:100]]
    assert online.process_queue() == {}
    for task in tasks[100:]:
        online.submit_task(task)
    decisions = {**first, **online.process_queue()}
    race = Race(tasks, World(ClusterSpec.default(2)))
    expected = race.run(online.scheduler)
    assert online.get_utilization() == summarise(expected)["utilization"]
    assert {tuple(part.device for part in decision.parts) for decision in decisions.values()} == {(1, 0), (2, 0)}
    assert {task_id: (d.gpu_id, d.gpu_fraction) for task_id, d in decisions.items()} == {
        outcome.task_id: (outcome.gpu_id, outcome.gpu_fraction) for outcome in expected
    }


@pytest.mark.parametrize("name", ["rl_agent", "hybrid_ml", "static_forest", "mct", "oracle"])
def test_online_scheduler_decides_every_task_as_the_race_does(name: str) -> None:
    """Learners too, which are told of finished tasks between their decisions."""
    tasks = WorkloadGenerator(1).generate("mixed", 1000, 5.0)
    trained = OfflineTrainer().label(WorkloadGenerator(2).generate("mixed", 500, 5.0))

    def fresh() -> Scheduler:
        made = create_scheduler(name, 3)
        if isinstance(made, LabelLearner):
            made.fit(trained)
        return made

    online = OnlineScheduler(fresh(), num_gpus=4)
    decisions: dict[int, Decision] = {}
    for part in (tasks[:400], tasks[400:]):
        for task in part:
            online.submit_task(task)
        decisions |= online.process_queue()
    raced = Race(tasks, World(ClusterSpec.default(4))).run(fresh(), compiled=False)
    assert {i: [(p.device, p.share) for p in made.parts] for i, made in decisions.items()} == {
        each.task_id: [(raced.device_names.index(p.device), p.share) for p in each.parts] for each in raced
    }
    assert len(decisions) == len(tasks) == 1000
    assert online.get_utilization() == summarise(raced)["utilization"]


def test_online_scheduler_shows_estimates_to_those_alone_that_use_them() -> None:
    class Spy(Scheduler):
        """Notes the estimates it is shown."""

        seen: ClassVar[list[float]] = []

        def decide(self, task: Task, view: ClusterView) -> Decision:
            self.seen.append(task.duration_estimate)
            assert view.times.size == 0
            return Decision.whole(0)

    online = OnlineScheduler(Spy())
    online.submit_task(Task(1, 100.0, 0.5, 10.0))
    online.process_queue()
    assert np.isnan(Spy.seen).tolist() == [True]


def test_submitting_does_not_look_through_all_tasks() -> None:
    class Counting(int):
        """A task id that counts comparisons."""

        compared = 0

        def __eq__(self, other: object) -> bool:
            Counting.compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    online = OnlineScheduler(create_scheduler("mct"))
    for i in range(2000):
        online.submit_task(Task(Counting(i), 100.0, 0.5, 10.0))
    assert Counting.compared < 20_000


def test_online_scheduler_with_a_forest_fitted_on_a_workloads_table() -> None:
    generator = WorkloadGenerator(1)
    tasks = generator.generate("mixed", 300, 5.0)
    columns = ["task_size", "memory_required", "compute_intensity"]
    model = RandomForestPredictor(n_estimators=5)
    model.fit(generator.to_dataframe()[columns], OfflineTrainer().label(generator).gpu_fraction)
    online = OnlineScheduler(model, num_gpus=1)
    online.submit_task(tasks[0])
    (decision,) = online.process_queue().values()
    row = [[tasks[0].size, tasks[0].memory_required, tasks[0].compute_intensity]]
    assert decision == Decision.split(1, 0, float(model.predict(row)[0]))
    model.fit(generator.to_dataframe()[["arrival_time"]], OfflineTrainer().label(generator).gpu_fraction)
    with pytest.raises(InvalidInputError, match=r"trained on \['arrival_time'\]; all must be among"):
        OnlineScheduler(model)


def test_online_scheduler_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InvalidInputError, match="the model is a int"):
        OnlineScheduler(3)
    online = OnlineScheduler(create_scheduler("mct"))
    online.submit_task(Task(1, 100.0, 0.5, 10.0))
    with pytest.raises(InvalidInputError, match="task id 1 was submitted before"):
        online.submit_task(Task(1, 100.0, 0.5, 10.0))
    with pytest.raises(InvalidInputError, match="has dependencies"):
        online.submit_task(Task(2, 100.0, 0.5, 10.0, dependencies=(1,)))


def test_online_scheduler_refuses_a_model_of_something_else() -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 100, 5.0)
    model = RandomForestPredictor(n_estimators=5)
    columns = pd.DataFrame(feature_matrix(tasks), columns=list(FEATURE_NAMES))
    model.fit(columns, pd.Series(tasks.duration_estimate, name="seconds"))
    with pytest.raises(InvalidInputError, match="seconds"):
        OnlineScheduler(model)
