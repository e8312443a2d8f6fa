"""What is embarrassingly parallel, on a Ray cluster: the same results to the bit, and a lost worker costs nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

from hybrid_scheduler.experiments.base import Experiment, Point, Record, Unit
from hybrid_scheduler.experiments.mixed import Mixed
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.hardware import ray_workers
from hybrid_scheduler.hardware.ray_cluster import RayError, connect, sources
from hybrid_scheduler.hardware.ray_workers import RayWorkers
from hybrid_scheduler.hardware.workers import find_workers
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.training.order import OrderTraining, train_order

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Shared(Experiment):
    """Its units need what was prepared, write a file of their own, say something, and fail or die when asked to."""

    name: ClassVar[str] = "shared"
    question: ClassVar[str] = "Do files travel?"
    schedulers: ClassVar[tuple[str, ...]] = ("oracle", "greedy")
    subjects: ClassVar[tuple[str, ...]] = ("greedy",)
    compared: ClassVar[tuple[str, ...]] = ("total_time",)
    shown: ClassVar[tuple[str, ...]] = ("total_time",)
    parameter: ClassVar[str | None] = "load"
    extra_files: ClassVar[tuple[str, ...]] = ("more.csv",)

    fails: bool = False
    dies: Path | None = None

    def points(self) -> Sequence[Point | None]:
        return 0.5, 1.5

    def prepare(self, seed: int, folder: Path) -> None:
        (folder / "deeper").mkdir()
        (folder / "deeper" / "model.txt").write_text(str(seed))

    def run(self, unit: Unit) -> Record:
        unit.say(f"seed {unit.seed}, load {unit.point}")
        if self.dies is not None and not self.dies.exists():
            self.dies.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fails and unit.point == 1.5:
            raise InvalidInputError("this load is too high")
        if unit.folder is not None:
            (unit.folder / "more.csv").write_text(f"{unit.seed}\n")
        figure = float((unit.prepared / "deeper" / "model.txt").read_text()) * float(unit.point or 0.0)
        return Record(unit.seed, {name: {"total_time": figure} for name in self.schedulers}, point=unit.point)


def _multiplied(factor: float, values: Any) -> Any:
    return factor * values


def _lonely() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def workers() -> Iterator[RayWorkers]:
    """Two on a cluster of this machine; everything of it is gone after."""
    before = set(psutil.Process().children(recursive=True))
    cluster = connect("ray", processors=2)
    cluster.ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    started = set(psutil.Process().children(recursive=True)) - before
    assert started, "nothing was started"
    with RayWorkers("ray") as workers:
        assert workers.processors() == 2
        yield workers
    assert cluster.ray.is_initialized(), "it was there before these workers"
    cluster.close()
    cluster.close()
    assert not cluster.ray.is_initialized()
    assert psutil.wait_procs(started, timeout=60)[1] == []


def _without_clock(records: tuple[Record, ...]) -> list[object]:
    return [(each.seed, each.point, each.figures, _bits(each.curves), _bits(each.samples)) for each in records]


def _bits(arrays: Any) -> object:
    if isinstance(arrays, dict):
        return {name: _bits(inner) for name, inner in arrays.items()}
    return arrays.dtype.str, arrays.shape, arrays.tobytes()


def test_an_experiment_is_the_same_everywhere(workers: RayWorkers, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    experiment = Mixed(tasks=40, train_tasks=60)
    spread = run_experiment(
        experiment, [1, 2], workers=workers, folder=tmp_path, progress=lambda *each: told.append(each)
    )
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert _without_clock(spread.records) == _without_clock(run_experiment(experiment, [1, 2]).records)
    assert run_experiment(experiment, [1, 2], workers=workers, folder=tmp_path).resumed == 2


def test_files_travel_and_a_killed_worker_costs_nothing(workers: RayWorkers, tmp_path: Path) -> None:
    """What was prepared goes to the units; what they write and say comes back; one is killed outright and redone."""
    said: list[str] = []
    experiment, mark = Shared(dies=tmp_path / "died"), tmp_path / "died"
    result = run_experiment(experiment, [3, 4], workers=workers, folder=tmp_path / "out", say=said.append)
    assert mark.exists(), "nothing was killed"
    assert [record.figures["oracle"]["total_time"] for record in result.records] == [1.5, 2.0, 4.5, 6.0]
    assert sorted(said) == [f"seed {seed}, load {load}" for seed in (3, 4) for load in (0.5, 1.5)]
    assert (tmp_path / "out" / "more.csv").read_text() == "3\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["more.csv", "parts"]
    parts = {path.name for path in (tmp_path / "out" / "parts").iterdir()}
    assert parts == {"experiment.json", *(f"seed-{seed}-{load}.npz" for seed in (3, 4) for load in (0.5, 1.5))}


def test_a_unit_that_fails(workers: RayWorkers, tmp_path: Path) -> None:
    """Its error arrives, what it said is not lost, and what was finished stays."""
    said: list[str] = []
    with pytest.raises(InvalidInputError, match="this load is too high") as caught:
        run_experiment(Shared(fails=True), [3], workers=workers, folder=tmp_path, say=said.append)
    assert "in run" in str(caught.value.__cause__), "the traceback of the worker"
    assert "seed 3, load 1.5" in said
    assert run_experiment(Shared(), [3], folder=tmp_path / "other", workers=workers).resumed == 0


def test_training_is_the_same_everywhere(workers: RayWorkers, tmp_path: Path) -> None:
    settings = OrderTraining(generations=2, pairs=2, scenarios=3, tasks=120, warm_up=20)
    here, there = train_order(settings, tmp_path), train_order(settings, tmp_path, workers=workers, fresh=True)
    assert np.array_equal(here.weights, there.weights)
    assert np.array_equal(here.average, there.average)


def test_calls(workers: RayWorkers) -> None:
    values = workers.share(np.arange(3.0))
    results = workers.map(_multiplied, [(factor, values) for factor in (1.0, 2.0, 3.0)])
    assert [result.tolist() for result in results] == [[0, 1, 2], [0, 2, 4], [0, 3, 6]]
    with pytest.raises(TypeError, match="can't multiply"):
        workers.map(_multiplied, [(1.5, "a")])


def test_a_call_that_ends_every_worker(workers: RayWorkers) -> None:
    with pytest.raises(RayError, match="3 repetitions included"):
        workers.map(_lonely, [()])


def test_other_sources_are_refused(workers: RayWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine with another state of the package would give other results."""
    (there,) = workers.map(sources, [()])
    monkeypatch.setattr(ray_workers, "own_sources", lambda: ("somewhere else", there))
    assert workers.map(_multiplied, [(2.0, 4.0)]) == [8.0], "somewhere else has the same"
    monkeypatch.setattr(ray_workers, "own_sources", lambda: ("somewhere else", "0.0 (else)"))
    with pytest.raises(InvalidInputError, match="install the same on all machines"):
        workers.map(_multiplied, [(2.0, 4.0)])


@pytest.mark.parametrize(("node", "jobs", "said"), [("rai", None, "'ray'"), ("ray", 0, "at least 1")])
def test_workers_that_cannot_be(node: str, jobs: int | None, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        find_workers(node, jobs)
