"""The forest schedulers' common ground: a forest trained offline that decides with the queues in view."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybrid_scheduler.learning.actions import DEFAULT_CONGESTION, queues_with_data
from hybrid_scheduler.learning.features import FEATURES, feature_matrix, write_features
from hybrid_scheduler.learning.forest.file import read_archive, write_archive
from hybrid_scheduler.learning.forest.forest import ForestSettings
from hybrid_scheduler.learning.forest.option_search import (
    CONGESTION,
    ENERGY_WEIGHT,
    MONEY_WEIGHT,
    SEED,
    TABLE,
    TIME_WEIGHT,
    USE_QUEUES,
    choose,
    note_node,
)
from hybrid_scheduler.learning.forest.time_model import ModelVersion, TimeModel, log_seconds, score
from hybrid_scheduler.learning.model_file import Arrays
from hybrid_scheduler.learning.packaged import packaged_file
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.objective import ARGUMENTS, BALANCED, Objective, Weights
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, LabelLearner, kernel

VERSIONS: Final = 200
"""Versions remembered."""


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    parts = choose(number, task, queues_with_data(devices, times), facts, state, out)
    if parts > 0:
        note_node(devices, facts, state)
    return parts


class StaticForest(CompiledScheduler, LabelLearner):
    """A random forest trained offline and never refreshed; the control of the learners.

    It predicts the time of a task on every device and takes the device and fraction (in steps of 5 %) with the least
    weighted cost of finish time, energy and money, given the backlogs it sees. Untrained, it spreads tasks over the
    devices.

    Args:
        energy_weight: 0 counts time only, 1 energy only; 0.5 unless `weights` are given.
        n_estimators: Trees.
        max_depth: Splits on the longest path of a tree.
        min_samples_leaf: Rows of its sample that a leaf must have.
        max_features: Features looked at per node; 0 for all.
        use_queues: Whether queues count; without them every node looks idle.
        congestion: How much a second of work counts for the tasks that will wait behind it, per part queued there; 0
            looks at the task at hand alone, as the oracle does.
        seed: Decides the samples the trees are grown on.
        weights: Instead of `energy_weight`: how much time, energy and money count (`model.objective`).
    """

    kernel = _policy
    ranks_tasks = True
    objective = ARGUMENTS
    model_suffix = ".npz"
    predictor: str = "forest"
    """What kind of trees it is trained with (`learning.forest.time_model.PREDICTORS`)."""

    def __init__(
        self,
        energy_weight: float | None = None,
        n_estimators: int = 32,
        max_depth: int = 15,
        min_samples_leaf: int = 3,
        max_features: int = 0,
        use_queues: bool = True,
        congestion: float = DEFAULT_CONGESTION,
        seed: int = 0,
        weights: Weights | None = None,
    ) -> None:
        self.goals = Objective.chosen(weights, energy_weight) or BALANCED
        if not 0.0 <= congestion <= 1000.0:
            raise InvalidInputError(f"congestion is {congestion}, but it must be a number from 0 to 1000")
        self.energy_weight = self.goals.energy if weights is None else None
        self.weights = None if weights is None else self.goals.to_json()
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.use_queues = use_queues
        self.congestion = congestion
        self.seed = seed
        self.model: TimeModel | None = None
        self.versions: deque[ModelVersion] = deque(maxlen=VERSIONS)
        self._front = np.zeros(TABLE)
        self._front[[TIME_WEIGHT, ENERGY_WEIGHT, MONEY_WEIGHT]] = self.goals.time, self.goals.energy, self.goals.money
        self._front[[USE_QUEUES, CONGESTION, SEED]] = (
            use_queues,
            congestion,
            float(seed % 2**31),
        )
        self._settings = ForestSettings(n_estimators, max_depth, min_samples_leaf, max_features)

    def kernel_state(self) -> FloatArray:
        """The forest and what belongs to it (`learning.forest.option_search`)."""
        return self._front if self.model is None else self.model.state

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Ask the kernel about one task.

        Raises:
            InvalidInputError: The model was trained for another number of devices.
        """
        self.check_devices(len(view.devices))
        return super().decide(task, view)

    def expected_seconds(self, tasks: TaskBatch, view: ClusterView) -> FloatArray:
        """What the forest expects on the device where it is least; all alike before it has learned anything."""
        if self.model is None:
            return super().expected_seconds(tasks, view)
        shortest = np.exp(np.fmin.reduce(self.model.predict(feature_matrix(tasks)), axis=1))
        return np.where(shortest > 0.0, shortest, 1.0)

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The times the forest predicts."""
        if self.model is None:
            return Explanation("Nothing learned yet: devices are tried in turn.")
        x = np.empty((1, FEATURES))
        write_features(task.size, task.compute_intensity, task.memory_required, x[0])
        shares = self.goals.to_json().items()
        others = ", ".join(f"{goal} counts {share:.0%}" for goal, share in shares if share and goal != "time")
        aim = others or "time alone counts"
        return Explanation(
            f"Least predicted cost over devices and shares, queues in view; {aim}.", np.exp(self.model.predict(x)[0])
        )

    def figures(self) -> dict[str, float | None]:
        """Version and rows of the newest forest, R² of its log seconds and mean absolute error of its seconds."""
        if not self.versions:
            return {}
        newest, (r2, mae) = self.versions[-1], self._accuracy()
        return {
            "version": float(newest.number),
            "rows": float(newest.rows),
            **{name: None if np.isnan(figure) else float(figure) for name, figure in (("r2", r2), ("mae", mae))},
        }

    def fit(self, labels: LabelBatch) -> None:
        """Train from scratch on labelled tasks."""
        self._train(labels)

    def check_devices(self, count: int) -> None:
        """Refuse a node the model does not know.

        Raises:
            InvalidInputError: The model was trained for another number of devices.
        """
        if self.model is not None and self.model.devices != count:
            raise InvalidInputError(
                f"the model of {type(self).__name__} is for {self.model.devices} devices, but the node has {count}; "
                "train one for this node"
            )

    def packaged_model(self, view: ClusterView) -> Path | None:
        """One forest serves both: the refreshed one, and its control that is never refreshed."""
        return packaged_file("hybrid_ml.npz", view)

    def save_model(self, path: str | Path, extra: Arrays | None = None) -> None:
        """Write everything learned, in NumPy's archive format with a JSON header; reading it runs no code.

        Args:
            path: The file.
            extra: Arrays that somebody else will read again.

        Raises:
            InvalidInputError: Nothing has been learned yet, or the file cannot be written.
        """
        if self.model is None:
            raise InvalidInputError(f"{type(self).__name__} has learned nothing yet; train it before saving")
        header, arrays = self._to_arrays(self.model)
        write_archive(path, header, {**arrays, **(extra or {})})

    def load_model(self, path: str | Path) -> None:
        """Continue from a saved model; its trees' figures (number, depth, leaves) replace those asked for.

        Raises:
            InvalidInputError: The file is missing, damaged, not such a model or of another version.
        """
        header, arrays = read_archive(path)
        try:
            self._from_arrays(header, arrays)
        except Exception as error:  # whatever can be wrong with figures and arrays from anywhere
            raise InvalidInputError(f"{path}: the model is damaged or incomplete ({error}); train it again") from error

    def _accuracy(self) -> tuple[float, float]:
        """R² and mean absolute error, as in `ModelVersion`."""
        return self.versions[-1].r2, self.versions[-1].mae

    def _train(self, labels: LabelBatch) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Grow a forest; returns the features, the log seconds, and honest predictions of them."""
        if len(labels) == 0:
            raise InvalidInputError("there are no labels to train on; give at least one")
        x, y = feature_matrix(labels.tasks), log_seconds(labels.seconds)
        return x, y, self._train_rows(x, y)

    def _train_rows(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Grow a forest on features and log seconds; returns honest predictions."""
        self.model = self._new_model(y.shape[1])
        honest = self.model.grow(x, y)
        self.versions = deque([ModelVersion(1, len(y), self.model.forest.replaced, *score(y, honest), "fit")], VERSIONS)
        return honest

    def _new_model(self, devices: int) -> TimeModel:
        return TimeModel(self._settings, devices, self.seed, self.kernel_state(), self.predictor)

    def _to_arrays(self, model: TimeModel) -> tuple[dict[str, Any], Arrays]:
        header, arrays = model.to_arrays()
        return {**header, "versions": [asdict(version) for version in self.versions]}, arrays

    def _from_arrays(self, header: dict[str, Any], arrays: Arrays) -> None:
        model = TimeModel.from_arrays(header, arrays, self._front)
        self.versions = deque((ModelVersion(**version) for version in header["versions"]), VERSIONS)
        self.model = model
        self._take_settings(model.forest.settings)

    def _take_settings(self, settings: ForestSettings) -> None:
        self._settings = settings
        for name, value in asdict(settings).items():
            setattr(self, name, value)
