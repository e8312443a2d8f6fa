"""The names users of the earlier system know."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

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
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
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


def test_memory_matters() -> None:
    tasks = [Task(i, 1000, 1.0, 500) for i in range(3)]
    small = VirtualMultiGPU(2, memory_per_gpu=100).evaluate_baseline_schedulers(tasks)
    large = VirtualMultiGPU(2, memory_per_gpu=1000).evaluate_baseline_schedulers(tasks)
    assert small["greedy"]["utilization"]["gpu_0"]["utilization"] == 0  # type: ignore[index, call-overload]
    assert large["greedy"]["utilization"]["gpu_0"]["utilization"] > 0  # type: ignore[index, call-overload, operator]


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
    race = Race(tasks, ClusterSpec.default(2))
    expected = race.run(online.scheduler)
    assert online.get_utilization() == summarise(expected)["utilization"]
    assert {tuple(part.device for part in decision.parts) for decision in decisions.values()} == {(1, 0), (2, 0)}


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
