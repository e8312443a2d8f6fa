"""Offline training of a predictor: tasks in, oracle labels, a fitted model in a file out."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import isclass, signature
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid_scheduler.learning.features import FEATURE_NAMES, feature_matrix
from hybrid_scheduler.learning.predictor_file import require
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor, XGBoostPredictor
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.workloads.generator import WorkloadGenerator

Workload = WorkloadGenerator | TaskBatch | Iterable[Task]
"""Tasks, or a generator that holds some."""

TARGET = "gpu_fraction"
"""What is learned: the best share for a GPU, on an idle node."""
OWN_TYPES = {"random_forest": RandomForestPredictor, "xgboost": XGBoostPredictor}


class OfflineTrainer:
    """Trains a predictor of the best GPU fraction on the oracle's labels.

    Args:
        model_type: `random_forest`, `xgboost`, or a scikit-learn regressor: its name, class or an object.
        num_gpus: GPUs of the default node, when no `world` is given.
        world: The devices and how they behave.
        seed: Decides the noise, the samples and the test rows.
        test_size: Share of the tasks set aside for the test.
        parameters: Arguments of the model, e.g. ``n_estimators=50``.
    """

    def __init__(
        self,
        model_type: Any = "random_forest",
        num_gpus: int = 4,
        *,
        world: World | None = None,
        seed: int = 0,
        test_size: float = 0.2,
        **parameters: Any,
    ) -> None:
        self.model_type = model_type
        self.world = world or World(ClusterSpec.default(num_gpus))
        self.seed = seed
        self.test_size = test_size
        self.predictor = _make(model_type, seed, parameters)

    def label(self, workload: Workload) -> LabelBatch:
        """What the oracle says about the tasks, on an idle node."""
        tasks = TaskBatch.from_tasks(workload.workload if isinstance(workload, WorkloadGenerator) else workload)
        return self.world.timed(tasks, self.seed).labels()

    def run_full_pipeline(self, workload: Workload, model_output_path: str | Path) -> dict[str, Any]:
        """Label the tasks, fit the model, save it.

        Args:
            workload: The tasks, or a generator that has generated or loaded them.
            model_output_path: The file to write.

        Returns:
            `training_results` (see `Predictor.fit`), `feature_importances` (largest first; empty when the regressor has
            none), `model_path`, `tasks`, `target` and `features`.

        Raises:
            InvalidInputError: There are too few tasks or none yet, or the file cannot be written.
            MissingExtraError: The library of the model is not installed.
        """
        labels = self.label(workload)
        features = pd.DataFrame(feature_matrix(labels.tasks), columns=list(FEATURE_NAMES))
        results = self.predictor.fit(features, pd.Series(labels.gpu_fraction, name=TARGET), self.test_size)
        self.predictor.save(model_output_path)
        return {
            "training_results": results,
            "feature_importances": self.predictor.feature_importance() if self.predictor.ranks_features else {},
            "model_path": str(model_output_path),
            "tasks": len(labels),
            "target": TARGET,
            "features": list(FEATURE_NAMES),
        }


def _make(model_type: Any, seed: int, parameters: dict[str, Any]) -> Predictor:
    if isinstance(model_type, str) and model_type in OWN_TYPES:
        own: Predictor = OWN_TYPES[model_type](seed=seed, **parameters)
        return own
    require("OfflineTrainer", "scikit-learn", "sklearn", "learning")
    from sklearn.base import is_regressor
    from sklearn.utils import all_estimators

    if isinstance(model_type, str):
        known = dict(all_estimators(type_filter="regressor"))
        if model_type not in known:
            raise UnknownNameError("model type", model_type, [*OWN_TYPES, *known])
        model_type = known[model_type]
    if isclass(model_type):
        if "random_state" in signature(model_type).parameters:
            parameters = {"random_state": seed, **parameters}
        model_type = model_type(**parameters)
    elif parameters:
        raise InvalidInputError(f"{sorted(parameters)} cannot be given with a regressor that is already made")
    if not (hasattr(model_type, "fit") and hasattr(model_type, "predict") and is_regressor(model_type)):
        raise InvalidInputError(
            f"model_type is {model_type!r}, but it must be one of {', '.join(OWN_TYPES)} or a scikit-learn regressor"
        )
    return Predictor(model_type, seed)
