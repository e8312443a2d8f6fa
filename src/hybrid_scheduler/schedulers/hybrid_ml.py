"""The forest that goes on learning while it works."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import numpy as np

from hybrid_scheduler.learning.actions import DEFAULT_CONGESTION
from hybrid_scheduler.learning.drift import DriftDetector
from hybrid_scheduler.learning.features import FEATURES, write_features
from hybrid_scheduler.learning.forest.boosted import BoostedForest
from hybrid_scheduler.learning.forest.option_search import NODE_DEVICES, STRETCH
from hybrid_scheduler.learning.forest.rows import TASK_FIGURES, Rows
from hybrid_scheduler.learning.forest.time_model import PREDICTORS, ModelVersion, TimeModel, log_seconds, score
from hybrid_scheduler.learning.model_file import Arrays
from hybrid_scheduler.learning.predictor_file import require
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.objective import Weights
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.schedulers.base import Refit
from hybrid_scheduler.schedulers.static_forest import StaticForest

FEW: Final = 8
"""While there are few rows a refresh is due whenever they have grown by a FEWth, at every row at first."""
FULL: Final = 400
"""Up to so many rows a refresh regrows every tree: that takes a few milliseconds."""
WORK: Final = 8_000
"""Rows times trees that one refresh may cost beyond that: about four milliseconds."""
JUDGES: Final = 200
"""Fewer of the latest rows than this cannot tell a better tree from a luckier one; then all rows are asked."""
REFITS: Final = 1000
"""Refits remembered until they are taken."""


class HybridML(StaticForest):
    """A random forest trained offline and refreshed online; weighs time, energy and money with the queues in view.

    It learns from the oracle's labels, or, where no label precedes an outcome (real hardware), from its own outcomes.
    Every `retrain_interval` rows a refresh regrows some of the trees, in turn, on the latest rows and a sample of all
    before them, so that what was learned offline stays in force; a new tree replaces an old one only when it is no
    worse. When tasks or errors are off the training distribution (`learning.drift`), older rows are dropped and all
    trees are regrown at once. `refit_checks` counts the refreshes; those that replaced a tree are `refits`, each with a
    version of its own. The errors of a `Refit` are mean absolute errors of the log seconds: 0.03 is about 3 %.

    Args:
        energy_weight: 0 counts time only, 1 energy only; 0.5 unless `weights` are given.
        retrain_interval: Rows between two refreshes.
        window: The latest rows, all of which take part in a refresh.
        reservoir: Rows of the sample of all before them.
        refresh_rows: Most rows a refresh looks at: the window and a part of the sample, drawn anew each time.
        drift: Whether to watch for changes.
        use_labels: Whether to ask for the oracle's labels.
        predictor: `forest`, or `xgboost` (an extra): boosted trees. A refresh adds some, or replaces the latest, and
            keeps them only when they make the whole no worse on rows that they were not trained on. A file saved with
            the other predictor gives its rows: a model is trained on them.
        n_estimators: Trees.
        max_depth: Splits on the longest path of a tree; boosted trees have 8 at most.
        min_samples_leaf: Rows of its sample that a leaf must have.
        max_features: Features looked at per node; 0 for all.
        use_queues: Whether queues count; without them every node looks idle.
        congestion: How much a second of work counts for the tasks that will wait behind it, per part queued there; 0
            looks at the task at hand alone, as the oracle does.
        seed: Decides the samples the trees are grown on.
        weights: Instead of `energy_weight`: how much time, energy and money count (`model.objective`).
    """

    def __init__(
        self,
        energy_weight: float | None = None,
        retrain_interval: int = 50,
        window: int = 1000,
        reservoir: int = 4000,
        refresh_rows: int = 4000,
        drift: bool = True,
        use_labels: bool = True,
        predictor: str = "forest",
        n_estimators: int = 32,
        max_depth: int = 15,
        min_samples_leaf: int = 3,
        max_features: int = 0,
        use_queues: bool = True,
        congestion: float = DEFAULT_CONGESTION,
        seed: int = 0,
        weights: Weights | None = None,
    ) -> None:
        super().__init__(
            energy_weight,
            n_estimators,
            max_depth,
            min_samples_leaf,
            max_features,
            use_queues,
            congestion,
            seed,
            weights,
        )
        limits = {
            "retrain_interval": retrain_interval,
            "window": window,
            "reservoir": reservoir,
            "refresh_rows": refresh_rows,
        }
        for name, value in limits.items():
            if not (isinstance(value, int | np.integer) and 1 <= value <= 10**7):
                raise InvalidInputError(f"{name} is {value!r}, but it must be a whole number from 1 to 10000000")
        self.retrain_interval = retrain_interval
        self.window = window
        self.reservoir = reservoir
        self.refresh_rows = refresh_rows
        self.drift = drift
        self.use_labels = use_labels
        self.predictor = predictor
        if predictor not in PREDICTORS:
            raise UnknownNameError("predictor", predictor, PREDICTORS)
        if predictor == BoostedForest.predictor:
            require("hybrid_ml with predictor xgboost", "XGBoost", "xgboost", "xgboost")
            self._new_model(1)  # refuses settings that are not for boosted trees
        self.refits = 0
        self.refit_checks = 0
        self._refits: deque[Refit] = deque(maxlen=REFITS)
        self._score: tuple[float, float] | None = None
        self._rows: Rows | None = None
        self._detector = DriftDetector(FEATURES)
        self._waited = 0
        self._next_tree = 0
        self._taught = -1
        self._usual_of_labels = True

    @property
    def wants_labels(self) -> bool:
        """Whether the oracle's labels must be delivered."""
        return self.use_labels

    @property
    def drifts(self) -> int:
        """How many changes have been noticed."""
        return self._detector.alarms

    def fit(self, labels: LabelBatch) -> None:
        """Train from scratch on labelled tasks, and keep a sample of them."""
        x, y, honest = self._train(labels)
        self._rows = Rows(self.window, self.reservoir, y.shape[1], self.seed)
        self._rows.fill(x[:, :TASK_FIGURES], y)
        self._detector.learn(x, np.abs(honest - y).mean(axis=1))
        self._usual_of_labels = True
        self._waited, self._score = 0, None

    def take_refits(self) -> tuple[Refit, ...]:
        """The refreshes since the last call that replaced a tree, oldest first, the latest 1000 of them."""
        taken = tuple(self._refits)
        self._refits.clear()
        return taken

    def teach(self, label: Label) -> None:
        """Learn from the oracle's label of a task that has finished.

        Raises:
            InvalidInputError: The label is for another number of devices.
        """
        self.check_devices(len(label.seconds))
        self._taught = label.task.task_id
        self._usual_of_labels = True
        self._learn(label.task, log_seconds(label.seconds))

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a finished task when no label has come before it: how long its parts took where they ran.

        Which errors are usual is learned anew when outcomes take the place of labels: a real machine differs from what
        the oracle said of its twin, and that alone is no change of the world.
        """
        state = self.kernel_state()
        if outcome.failed or task.task_id == self._taught or state[NODE_DEVICES] == 0.0:
            return
        targets = np.full(int(state[NODE_DEVICES]), np.nan)
        split = task.width == 1 and len(decision.parts) == 2
        stretch = state[STRETCH] if split else 1.0
        records = (record for record in outcome.parts if not record.lost)
        for part, record in zip(decision.parts, records, strict=True):
            share = part.share if task.width == 1 else 1.0  # a gang takes its time on every device
            targets[part.device] = log_seconds(np.array((record.end - record.start) / (share * stretch)))
        if self._usual_of_labels:
            self._detector.forget_errors()
            self._usual_of_labels = False
        self._learn(task, targets)

    def _learn(self, task: Task, targets: FloatArray) -> None:
        """Take in a row; look for drift; refresh when it is time."""
        if self._rows is None:
            self._rows = Rows(self.window, self.reservoir, len(targets), self.seed)
        rows, x = self._rows, np.empty(FEATURES)
        figures = np.array([task.size, task.compute_intensity, task.memory_required])
        write_features(figures[0], figures[1], figures[2], x)
        predicted = np.full(len(targets), np.nan) if self.model is None else self.model.predict(x[None, :])[0]
        rows.add(figures, targets, predicted)
        self._waited += 1
        errors = np.abs(predicted - targets)
        known = errors[~np.isnan(errors)]
        if self.drift and self._detector.notice(x, float(known.mean()) if len(known) else np.nan):
            rows.keep(self._detector.since)
            self._detector.restart()
            self._refresh("drift")
            return
        wait = min(max(1, rows.total // FEW), self.retrain_interval)
        if self._waited >= wait:
            self._refresh("interval" if wait == self.retrain_interval else "few rows")

    def _refresh(self, reason: str) -> None:
        """Regrow all trees, or as many as a few milliseconds allow, in turn."""
        if self._rows is None:
            return
        r2, mae = self._score = score(*self._rows.compared())
        x, y = self._rows.training(self.refresh_rows)
        trees: list[int] | None = None
        if self.model is None:
            self.model = self._new_model(y.shape[1])
        elif reason != "drift" and len(x) > FULL:
            count = min(max(1, WORK // len(x)), self.n_estimators)
            trees = [(self._next_tree + i) % self.n_estimators for i in range(count)]
            self._next_tree = (self._next_tree + count) % self.n_estimators
        recent = self._rows.recent_count
        self.model.grow(x, y, trees, judges=0 if trees is None else recent if recent >= JUDGES else len(x))
        self.refit_checks += 1
        forest = self.model.forest
        if forest.replaced > 0:
            self.refits += 1
            number = self.versions[-1].number + 1 if self.versions else 1
            self.versions.append(ModelVersion(number, len(x), forest.replaced, r2, mae, reason))
            self._refits.append(
                Refit(reason, len(x), forest.tried, forest.replaced, forest.error_before, forest.error_after)
            )
        self._detector.settle()
        self._waited = 0

    def _accuracy(self) -> tuple[float, float]:
        """Of the latest refresh, also of one in vain."""
        return super()._accuracy() if self._score is None else self._score

    def _to_arrays(self, model: TimeModel) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._to_arrays(model)
        rows, detector = self._rows, self._detector
        if rows is None:
            raise InvalidInputError("the model has no rows to go on learning from; train it before saving")
        header["learning"] = {
            "rows": rows.figures(),
            "detector": detector.figures(),
            "waited": self._waited,
            "next_tree": self._next_tree,
            "usual_of_labels": self._usual_of_labels,
        }
        return header, {**arrays, **rows.arrays(), **detector.arrays()}

    def _from_arrays(self, header: dict[str, Any], arrays: Arrays) -> None:
        if "learning" not in header:
            raise ValueError("it was saved by static_forest and holds no rows to go on learning from")
        asked = self._settings
        super()._from_arrays(header, arrays)
        learning = header["learning"]
        devices = 0 if self.model is None else self.model.devices
        self._rows = Rows.from_arrays(self.window, self.reservoir, devices, learning["rows"], arrays)
        self._detector = DriftDetector.from_arrays(FEATURES, learning["detector"], arrays)
        self._score = None
        self._usual_of_labels = bool(learning.get("usual_of_labels", True))  # older files lack it
        self._waited, self._next_tree = int(learning["waited"]), int(learning["next_tree"]) % self.n_estimators
        if self.model is not None and self.model.forest.predictor != self.predictor:
            self._take_settings(asked)
            x, y = self._rows.training(self.refresh_rows)
            self._detector.learn(x, _mean_errors(self._train_rows(x, y), y))
            self._next_tree = 0


def _mean_errors(predicted: FloatArray, targets: FloatArray) -> FloatArray:
    """Of every row, over the targets that are known; NaN where none is."""
    errors = np.abs(predicted - targets)
    known = ~np.isnan(errors)
    sums: FloatArray = np.where(known, errors, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), sums / np.maximum(known.sum(axis=1), 1), np.nan)
