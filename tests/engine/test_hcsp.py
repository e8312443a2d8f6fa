"""Published instances of independent tasks on unlike machines (Braun et al. 2001), raced through the table model."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np

from hybrid_scheduler.metrics.makespan import Makespan
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
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
