"""`heavy`: ten thousand tasks through everybody, and every decision on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hybrid_scheduler.experiments.base import Record, Unit
from hybrid_scheduler.experiments.racing import PRESET, RIVALS, Racing
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.training.artefacts import write_results

LOAD = 0.8
DECISIONS = "heavy_simulation_report.csv"


@dataclass(frozen=True, kw_only=True)
class Heavy(Racing):
    """A long race at a high load, all learning on: response times, money, makespan, and where the work went.

    Learners continue from the packaged models, made for their default objective (half time, half energy). Every task
    counts, from the first on.
    """

    name: ClassVar[str] = "heavy"
    question: ClassVar[str] = (
        f"Many {PRESET} tasks at {LOAD:.0%} of capacity: who is quick, who is cheap, who keeps up?"
    )
    rivals: ClassVar[tuple[str, ...]] = RIVALS
    compared: ClassVar[tuple[str, ...]] = ("avg_response", "makespan", "cost")
    shown: ClassVar[tuple[str, ...]] = ("avg_response", "p99_response", "makespan", "cost", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = (
        "makespan_comparison",
        "latency_cdf",
        "latency_boxplot",
        "cost_comparison",
        "speedup_comparison",
        "avg_duration_comparison",
        "learning_curve",
        "gpu_fraction_distribution",
        "allocation_over_time",
        "workload",
    )
    extra_files: ClassVar[tuple[str, ...]] = (DECISIONS,)
    default_seeds: ClassVar[int] = 5

    tasks: int = 10_000
    train_tasks: int = 20_000

    def run(self, unit: Unit) -> Record:
        """One race."""
        outcomes: dict[str, OutcomeBatch] = {}
        contestants = {name: self.packaged(name, unit.seed) for name in self.schedulers}
        record = self.race(unit, contestants, self.scenario(unit.seed, LOAD), keep=outcomes, samples=True)
        if unit.folder is not None:
            write_results(unit.folder / DECISIONS, outcomes)
        return record

    def facts(self) -> dict[str, object]:
        """How learners start."""
        return {"start": self.packaged_start(), "load": LOAD, "decisions": DECISIONS}
