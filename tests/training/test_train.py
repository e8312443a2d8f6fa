"""`train_scheduler` trains each kind of learner its own way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import RecordedTasks, Scenario
from hybrid_scheduler.schedulers.base import LabelLearner, RaceLearner
from hybrid_scheduler.schedulers.cpu_only import CpuOnly
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

WORLD = World(ClusterSpec.default(2), Physics(noise=0.3))


class _Files:
    def save_model(self, path: str | Path) -> None:
        raise NotImplementedError

    def load_model(self, path: str | Path) -> None:
        raise NotImplementedError

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(0)


class FromLabels(_Files, LabelLearner):
    def fit(self, labels: LabelBatch) -> None:
        self.labels = labels


class FromRaces(_Files, RaceLearner):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.waits: list[float] = []

    def begin_training(self, tasks: int) -> None:
        self.calls.append(f"begin {tasks}")

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.calls.append(str(outcome.task_id))
        self.waits.append(outcome.wait_time)

    def end_training(self) -> None:
        self.calls.append("end")


def test_labels_are_those_of_the_realised_times() -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 20)
    learner, told = FromLabels(), list[int]()
    train_scheduler(learner, Scenario(RecordedTasks(tasks), WORLD, seed=4), progress=told.append)
    race = Race(tasks, WORLD, seed=4, isolated=True)
    assert learner.labels.seconds[:, 0] == pytest.approx(race.run(CpuOnly()).actual_time)
    assert learner.labels.optimal_seconds == pytest.approx(race.run(create_scheduler("oracle")).actual_time)
    assert told == [20]


@pytest.mark.parametrize("isolated", [False, True])
def test_a_training_race(isolated: bool) -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 20, arrival_rate=100.0)
    learner, told = FromRaces(), list[int]()
    scenario = Scenario(RecordedTasks(tasks), WORLD, seed=4, isolated=isolated)
    train_scheduler(learner, scenario, progress=told.append)
    assert learner.calls == ["begin 20", *map(str, range(20)), "end"]
    assert (np.max(learner.waits) < 1e-9) == isolated
    assert told[-1] == 20


def test_who_does_not_learn_is_left_alone() -> None:
    scheduler, told = CpuOnly(), list[int]()
    before = dict(vars(scheduler))
    train_scheduler(scheduler, Scenario(num_tasks=5), progress=told.append)
    assert (vars(scheduler), told) == (before, [])
