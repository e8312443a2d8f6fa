"""An experiment that takes no time, in a module of its own so that other processes find it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hybrid_scheduler.experiments.base import Experiment, SeedRecord
from hybrid_scheduler.experiments.plots import draw_bars, draw_lines, draw_shares
from hybrid_scheduler.experiments.runner import ExperimentResult
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
    shown: ClassVar[Mapping[str, str]] = {"total_time": "total s"}

    tasks: int = 5

    def run_seed(self, seed: int) -> SeedRecord:
        if seed == UNLUCKY:
            raise InvalidInputError(f"seed {seed} is unlucky")
        base = float(np.random.default_rng(seed).random())
        figures = {
            name: {"total_time": base + late, "throughput": base - late} for late, name in enumerate(self.schedulers)
        }
        return SeedRecord(seed, figures, {"lag": {"greedy": np.linspace(0, base, self.tasks)}})

    def draw(self, result: ExperimentResult, folder: Path) -> list[Path]:
        totals = {name: result.estimates[name]["total_time"] for name in self.schedulers}
        shares = {name: {"cpu_0": 0.25, "gpu_0": 0.75} for name in self.schedulers}
        return [
            draw_bars(folder / "bars.png", "Bars", "seconds", totals),
            draw_lines(folder / "lines.png", "Lines", ("task", "lag"), {"greedy": result.curve("lag", "greedy")}),
            draw_shares(folder / "shares.png", "Shares", shares, ("cpu_0", "gpu_0")),
        ]
