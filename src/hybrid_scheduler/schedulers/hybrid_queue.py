"""The learned queue: tasks wait, a forest expects their times, a network says which starts where, and when."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from hybrid_scheduler.learning.forest.file import read_archive
from hybrid_scheduler.learning.forest.option_search import DEVICES, note_node, predict_seconds
from hybrid_scheduler.learning.order.network import (
    ENERGY,
    GRAPH,
    GRAPH_WEIGHTS,
    MAX_OVERTAKEN,
    MONEY,
    N_WEIGHTS,
    STATE,
    checked_weights,
    load_weights,
)
from hybrid_scheduler.learning.order.pairs import device_scores, start_best
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.objective import ARGUMENTS, BALANCED, Objective, Weights
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED, WAITING_COLUMNS, WAITING_SINCE
from hybrid_scheduler.model.view import ClusterView, task_row
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import (
    CompiledDispatcher,
    Explanation,
    LabelLearner,
    Refit,
    dispatch_kernel,
    expect_kernel,
)
from hybrid_scheduler.schedulers.hybrid_ml import HybridML

ORDER = "order"
"""Name of the network's weights in a saved model."""
OVERTAKEN = 10_000
"""How often a task may be overtaken before it has its turn, unless somebody says otherwise."""
SHORTEST, OLDEST, SAMPLED, RANKED = 8, 2, 4, 8
"""How many of the shortest waiting tasks, of the oldest and of the others it looks at, likewise."""


@expect_kernel
def expected_times(task, devices, facts, state, times):  # type: ignore[no-untyped-def]
    """What the forest expects; of a forest for another node nothing."""
    times[FIXED] = 0.0
    if state[DEVICES] > 0.0 and state[DEVICES] != devices.shape[0]:
        times[SHARED] = np.nan
    else:
        predict_seconds(task, state, times[SHARED])
    note_node(devices, facts, state)
    return 0


@dispatch_kernel
def order_policy(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    """The best pair of a waiting task and an option, by the network."""
    return start_best(number, now, waiting, times, devices, facts, state, out)


@cache
def _packaged_weights() -> FloatArray:
    weights = load_weights()
    weights.flags.writeable = False
    return weights


class HybridQueue(CompiledDispatcher, LabelLearner):
    """A learned queue: tasks wait, and a small network says which of them starts where, and which goes on waiting.

    Expected times come from a random forest, refreshed online as in `hybrid_ml`. Whenever a device is idle, the network
    scores pairs of a waiting task and an option: a device, or a split of two idle ones. The best pair above 0
    starts; below 0 a task waits for a better device. It looks at a few of the shortest tasks, a few of the oldest and a
    sample of the rest. Its inputs are ratios, so one set of weights serves every node, and what counts (time, energy,
    money) is among them. The network was trained by evolution strategies (Salimans et al., "Evolution Strategies as a
    Scalable Alternative to Reinforcement Learning", 2017) on random nodes; `hms train` trains it again.

    Where tasks occupy several devices together, the oldest of those it looks at starts as soon as so many are idle, and
    others may only use them meanwhile if they are expected to be done by then: EASY backfilling on learned times.

    No task starves: one that has been overtaken `max_overtaken` times has the next turn of the device that would finish
    it first.

    Args:
        energy_weight: 0 counts time only, 1 energy only; 0.5 unless `weights` are given.
        max_overtaken: How often a task may be overtaken before it has its turn. The network lets nobody wait that long
            unless the node is overloaded for good.
        retrain_interval: Rows between two refreshes of the forest.
        use_labels: Whether to ask for the oracle's labels; otherwise the forest learns from own outcomes.
        predictor: `forest` or `xgboost`, see `hybrid_ml`.
        drift: Whether to watch for changes.
        shown_shortest: How many of the shortest waiting tasks it looks at.
        shown_oldest: How many of the oldest it looks at besides.
        shown_sampled: How many of the others.
        shown_ranked: How many of those that are most critical to their graph, of tasks that are part of one.
        seed: Decides the samples the trees are grown on.
        weights: Instead of `energy_weight`: how much time, energy and money count (`model.objective`).
    """

    idle_only = True
    ranks_tasks = True
    kernel = order_policy
    expect = expected_times
    objective = ARGUMENTS
    model_suffix = HybridML.model_suffix

    def __init__(
        self,
        energy_weight: float | None = None,
        max_overtaken: int = OVERTAKEN,
        retrain_interval: int = 50,
        use_labels: bool = True,
        predictor: str = "forest",
        drift: bool = True,
        shown_shortest: int = SHORTEST,
        shown_oldest: int = OLDEST,
        shown_sampled: int = SAMPLED,
        seed: int = 0,
        weights: Weights | None = None,
        shown_ranked: int = RANKED,
    ) -> None:
        limits = {
            "shown_shortest": (shown_shortest, 0),
            "shown_oldest": (shown_oldest, 1),
            "shown_sampled": (shown_sampled, 0),
            "shown_ranked": (shown_ranked, 0),
        }
        for name, (value, least) in limits.items():
            within(name, value, least, 1000)
        self.max_overtaken = within("max_overtaken", max_overtaken, 0, 10**9)
        goals = Objective.chosen(weights, energy_weight) or BALANCED
        self.goals = goals
        self.energy_weight = goals.energy if weights is None else None
        self.weights = None if weights is None else goals.to_json()
        self.retrain_interval = retrain_interval
        self.use_labels = use_labels
        self.predictor = predictor
        self.drift = drift
        self.shown_shortest = shown_shortest
        self.shown_oldest = shown_oldest
        self.shown_sampled = shown_sampled
        self.shown_ranked = shown_ranked
        self.seed = seed
        self.times = HybridML(
            retrain_interval=retrain_interval, use_labels=use_labels, predictor=predictor, drift=drift, seed=seed
        )
        self._state = np.zeros(STATE)
        self._state[[ENERGY, MONEY, MAX_OVERTAKEN]] = goals.energy, goals.money, max_overtaken
        self._state[GRAPH:] = GRAPH_WEIGHTS
        self.order = _packaged_weights()

    @property
    def order(self) -> FloatArray:
        """The weights of the network."""
        return self._state[:N_WEIGHTS]

    @order.setter
    def order(self, weights: FloatArray) -> None:
        self._state[:N_WEIGHTS] = checked_weights(weights)

    @property
    def wants_labels(self) -> bool:
        """Whether the oracle's labels must be delivered."""
        return self.use_labels

    @property
    def drifts(self) -> int:
        """How many changes have been noticed."""
        return self.times.drifts

    @property
    def expect_version(self) -> int:  # type: ignore[override]
        """The version of the forest; 0 before it has learned anything."""
        return self.times.versions[-1].number if self.times.versions else 0

    def kernel_state(self) -> FloatArray:
        """The network's weights, what counts, and the limit of overtaking (`learning.order`)."""
        return self._state

    def expect_state(self) -> FloatArray:
        """The forest (`learning.forest.option_search`)."""
        return self.times.kernel_state()

    def expected_seconds(self, tasks: TaskBatch, view: ClusterView) -> FloatArray:
        """Those of the forest on the device where they are least."""
        return self.times.expected_seconds(tasks, view)

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Ask the kernel what starts.

        Raises:
            InvalidInputError: The forest was trained for another number of devices.
        """
        self.check_devices(len(view.devices))
        return super().dispatch(waiting, view)

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """What the network says of this task alone, on the devices as they are."""
        seconds = self._expected(task, view)
        if np.isnan(seconds).all():
            return Explanation("Nothing learned yet: tasks start in order of arrival, on idle devices in turn.")
        table = np.zeros((1, WAITING_COLUMNS))
        table[0, :WAITING_SINCE], table[0, WAITING_SINCE] = task_row(task), view.now
        times = np.zeros((1, 2, len(seconds)))
        times[0, SHARED] = seconds
        scores = device_scores(table, times, view.devices, self._state)
        first = int(np.nanargmin(view.backlog + seconds))
        finish = f"{view.names[first]} would finish it first, in {view.backlog[first] + seconds[first]:.3g} s"
        if np.isnan(scores).all():
            return Explanation(f"Waits: no device it fits on is idle; {finish}.", seconds)
        best = int(np.nanargmax(scores))
        here = f"the best idle device is {view.names[best]} ({seconds[best]:.3g} s, score {scores[best]:+.2f})"
        if scores[best] > 0.0:
            return Explanation(f"May start now: {here}; the waiting task with the highest score is next.", seconds)
        return Explanation(f"Better waits: {here}, and below 0 a task waits for a better one; {finish}.", seconds)

    def expected_start(self, task: Task, waiting: WaitingRoom, view: ClusterView) -> float | None:
        """When the devices, taken together, have done what is queued and what is shorter."""
        return self._expected_start(task, waiting, view, shortest_first=True)

    def fit(self, labels: LabelBatch) -> None:
        """Train the forest from scratch on labelled tasks; the order stays as it is."""
        self.times.fit(labels)

    def teach(self, label: Label) -> None:
        """Learn from the oracle's label of a task that has finished; see `HybridML.teach`."""
        self.times.teach(label)
        self._count()

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a finished task when no label has come before it: how long its parts took where they ran."""
        self.times.observe(task, decision, outcome)
        self._count()

    def take_refits(self) -> tuple[Refit, ...]:
        """The refreshes of the forest since the last call that replaced a tree."""
        return self.times.take_refits()

    def figures(self) -> dict[str, float | None]:
        """Those of the forest."""
        return self.times.figures()

    def check_devices(self, count: int) -> None:
        """Refuse a node the forest does not know.

        Raises:
            InvalidInputError: The forest was trained for another number of devices.
        """
        self.times.check_devices(count)

    def packaged_model(self, view: ClusterView) -> Path | None:
        """The packaged forest, where it fits; the packaged order serves every node."""
        return self.times.packaged_model(view)

    def save_model(self, path: str | Path) -> None:
        """Write the forest and the order in NumPy's archive format; reading it runs no code.

        Raises:
            InvalidInputError: Nothing has been learned yet, or the file cannot be written.
        """
        self.times.save_model(path, {ORDER: self.order})

    def load_model(self, path: str | Path) -> None:
        """Continue from a saved model, also from one of `hybrid_ml`: the order then stays as it is.

        Raises:
            InvalidInputError: The file is missing, damaged, not such a model or of another version.
        """
        _, arrays = read_archive(path)
        order = checked_weights(arrays[ORDER]) if ORDER in arrays else None
        self.times.load_model(path)
        if order is not None:
            self.order = order

    def _expected(self, task: Task, view: ClusterView) -> FloatArray:
        seconds = np.empty(len(view.devices))
        predict_seconds(task_row(task), self.expect_state(), seconds)
        return seconds

    def _count(self) -> None:
        self.refits, self.refit_checks = self.times.refits, self.times.refit_checks
