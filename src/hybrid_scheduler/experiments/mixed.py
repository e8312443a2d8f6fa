"""`mixed`: makespan and response under moderate load, and how well a forest predicts the optimal fraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from hybrid_scheduler.experiments.base import Record, Unit
from hybrid_scheduler.experiments.racing import PRESET, RIVALS, Racing
from hybrid_scheduler.learning.features import feature_matrix
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.training.offline import OfflineTrainer

LOAD = 0.5
FOREST = "forest"
SCORES = ("test_r2", "cv_r2_mean", "mae")


@dataclass(frozen=True, kw_only=True)
class Mixed(Racing):
    """A race at half the node's capacity, the learners against simple rules.

    Learners continue from the packaged models. Beside the race a forest is trained offline on the oracle's optimal
    fractions of `train_tasks` other tasks, and judged by the tasks of the race (`forest`).
    """

    name: ClassVar[str] = "mixed"
    question: ClassVar[str] = f"{PRESET} tasks at {LOAD:.0%} of capacity: what do learners gain over simple rules?"
    rivals: ClassVar[tuple[str, ...]] = RIVALS
    compared: ClassVar[tuple[str, ...]] = ("avg_response", "makespan")
    shown: ClassVar[tuple[str, ...]] = ("avg_response", "makespan", "speedup", "energy", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = (
        "makespan_comparison",
        "response_comparison",
        "speedup_comparison",
        "latency_cdf",
        "learning_curve",
        "confusion",
        "feature_importance",
        "gpu_fraction_distribution",
        "workload",
    )
    default_seeds: ClassVar[int] = 5

    tasks: int = 5000
    train_tasks: int = 10_000

    def run(self, unit: Unit) -> Record:
        """One race, and one forest."""
        scenario = self.scenario(unit.seed, LOAD)
        contestants = {name: self.packaged(name, unit.seed) for name in self.schedulers}
        record = self.race(unit, contestants, scenario, samples=True)
        scores, judged = self._forest(scenario)
        return replace(
            record,
            figures={**record.figures, FOREST: scores},
            samples={**record.samples, "confusion": judged},
        )

    def facts(self) -> dict[str, object]:
        """How learners start."""
        forest = f"the forest is trained on the oracle's labels of {self.train_tasks} tasks of another seed"
        return {"start": f"{self.packaged_start()}; {forest}", "load": LOAD}

    def _forest(self, scenario: Scenario) -> tuple[dict[str, float], dict[str, FloatArray]]:
        """The forest's scores, and what it predicts for the tasks of the race beside what is optimal."""
        training = scenario.training(self.train_tasks)
        trainer = OfflineTrainer("random_forest", world=self.world, seed=training.seed)
        with TemporaryDirectory(prefix="hms-forest-") as folder:
            report = trainer.run_full_pipeline(training.batch(), Path(folder) / "forest.pkl")
        scores = {key: float(report["training_results"][key]) for key in SCORES}
        scores |= {f"importance_{key}": float(value) for key, value in report["feature_importances"].items()}
        labels = trainer.label(scenario.batch())
        predicted = trainer.predictor.predict(feature_matrix(labels.tasks))
        return scores, {"optimal": labels.gpu_fraction, "predicted": predicted}
