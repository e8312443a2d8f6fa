"""An experiment that takes no time, in a module of its own so that other processes find it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hybrid_scheduler.experiments.base import Experiment, Point, Record, Unit
from hybrid_scheduler.model.errors import InvalidInputError

UNLUCKY = 13


@dataclass(frozen=True, kw_only=True)
class Small(Experiment):
    """Greedy takes a second more than the oracle, whatever the seed."""

    name: ClassVar[str] = "small"
    question: ClassVar[str] = "Does the runner run?"
    schedulers: ClassVar[tuple[str, ...]] = ("oracle", "greedy")
    subjects: ClassVar[tuple[str, ...]] = ("greedy", "oracle")
    compared: ClassVar[tuple[str, ...]] = ("total_time", "throughput")
    shown: ClassVar[tuple[str, ...]] = ("total_time",)

    tasks: int = 5

    def run(self, unit: Unit) -> Record:
        if unit.seed == UNLUCKY:
            raise InvalidInputError(f"seed {unit.seed} is unlucky")
        base = float(np.random.default_rng(unit.seed).random())
        figures = {
            name: {"total_time": base + late, "throughput": base - late} for late, name in enumerate(self.schedulers)
        }
        figures["lower_bound"] = {"total_time": base / 2}
        lag = {"lag": {"greedy": np.linspace(0, base, self.tasks)}}
        return Record(unit.seed, figures, lag, {"draws": {"oracle": np.arange(3.0)}}, {"greedy": {"decision_us": 1.0}})


@dataclass(frozen=True, kw_only=True)
class Varied(Small):
    """Every point needs what was prepared for its seed, and says how often it was run."""

    name: ClassVar[str] = "varied"
    parameter: ClassVar[str | None] = "load"
    compared: ClassVar[tuple[str, ...]] = ("total_time",)
    extra_files: ClassVar[tuple[str, ...]] = ("more.csv",)

    diary: Path = Path()

    def points(self) -> Sequence[Point | None]:
        return 0.5, 1.5

    def prepare(self, seed: int, folder: Path) -> None:
        self._write(f"prepare {seed}")
        (folder / "model.txt").write_text(str(seed))

    def run(self, unit: Unit) -> Record:
        assert (unit.prepared / "model.txt").read_text() == str(unit.seed)
        if (self.diary / "stop").exists() and unit.point == 1.5:
            raise InvalidInputError("interrupted")
        self._write(f"run {unit.seed} {unit.point}")
        if unit.folder is not None:
            (unit.folder / "more.csv").write_text(f"{unit.seed}\n")
        assert isinstance(unit.point, float)
        figures = {name: {"total_time": unit.seed * unit.point + k} for k, name in enumerate(self.schedulers)}
        return Record(unit.seed, figures, point=unit.point)

    def _write(self, line: str) -> None:
        with (self.diary / "diary.txt").open("a") as stream:
            stream.write(line + "\n")


@dataclass(frozen=True, kw_only=True)
class Slow(Small):
    """Takes long enough to be killed between two seeds."""

    name: ClassVar[str] = "slow"

    pause: float = 0.0

    def run(self, unit: Unit) -> Record:
        time.sleep(0.0 if unit.seed <= 2 else self.pause)
        return super().run(unit)
