"""Published instances of independent tasks on unlike machines (Braun et al. 2001), raced through the table model."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.metrics.makespan import Makespan
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace

PUBLISHED_MCT = 1.397
"""Geometric mean of makespan / best known of plain MCT over the 12 instances, as measured by the data's source."""


def race_of(path: Path) -> CheckedRace:
    values = np.array(gzip.decompress(path.read_bytes()).split(), dtype=np.float64)
    rows, columns = int(values[0]), int(values[1])
    names = tuple(f"cpu_{i}" for i in range(columns))
    cost = TableCost(values[3:].reshape(rows, columns), tuple(range(rows)), names)
    ones = np.ones(rows)
    cluster = ClusterSpec(tuple(Device(name, "cpu") for name in names))
    return CheckedRace(TaskBatch.from_columns(ones, ones, ones), World(cluster, Physics(cost)))


def test_mct_as_published(shared_data: Path) -> None:
    folder = shared_data / "benchmarks" / "hcsp"
    with (folder / "best_known.csv").open(newline="", encoding="utf-8") as file:
        best = {row["instance"]: float(row["best_known_makespan"]) for row in csv.DictReader(file)}
    assert len(best) == 12
    ratios = []
    for instance, best_known in best.items():
        race = race_of(folder / f"{instance}.gz")
        outcomes = race.run(create_scheduler("mct"))
        makespan = Makespan()
        makespan.update(outcomes)
        bound = race.lower_bound(outcomes).makespan
        # Good solutions are known to be within a few per cent of the fluid optimum, so a loose bound is a wrong one.
        assert 0.9 * best_known < bound <= best_known, instance
        ratios.append((makespan.get() or math.nan) / best_known)
    assert abs(math.exp(np.mean(np.log(ratios))) - PUBLISHED_MCT) < 0.005


@pytest.mark.parametrize(
    ("name", "published", "within"),
    [
        ("min_min", 1.136, 0.001),
        ("sufferage", 1.167, 0.001),
        ("max_min", 1.919, 0.001),
        ("olb", 3.224, 0.001),
        ("met", 3.978, 0.001),
    ],
)
def test_classics_as_published(shared_data: Path, name: str, published: float, within: float) -> None:
    assert abs(geometric_mean(shared_data, create_scheduler(name)) - published) <= within


def test_optimizer_is_near_the_best_known(shared_data: Path) -> None:
    small = create_scheduler("optimizer", steps=4000, restarts=1, seconds=100.0)
    assert geometric_mean(shared_data, small) < 1.02


def geometric_mean(shared_data: Path, scheduler: Scheduler) -> float:
    """Of makespan over the best known one, by a scheduler that learns nothing from one race to the next."""
    folder = shared_data / "benchmarks" / "hcsp"
    with (folder / "best_known.csv").open(newline="", encoding="utf-8") as file:
        best = {row["instance"]: float(row["best_known_makespan"]) for row in csv.DictReader(file)}
    makespans = {each: race_of(folder / f"{each}.gz").run(scheduler.clone()).finish_time.max() for each in best}
    return math.exp(np.mean([math.log(makespans[each] / best[each]) for each in best]))
