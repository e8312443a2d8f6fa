"""The agent: evaluates a task, explores when that pays, and learns from what came of its decisions.

Knows no physics: it sees the view's arrays and the outcomes of its own decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.learning.actions import largest_share
from hybrid_scheduler.learning.dqn.network import DeepQ
from hybrid_scheduler.learning.dqn.policy import (
    BAD,
    COUNT_WAITING,
    ENERGY_WEIGHT,
    FRACTION,
    HEADER,
    MEAN,
    MONEY_WEIGHT,
    SECOND,
    TASK_FEATURES,
    TIME_WEIGHT,
    TRUST,
    USE_BACKLOG,
    Layout,
    evaluate,
    expected_log,
    raw_features,
    take,
    task_features,
)
from hybrid_scheduler.learning.drift_probe import PROBES, DriftProbe, device_groups
from hybrid_scheduler.learning.pending_decisions import PendingDecision, PendingDecisions
from hybrid_scheduler.learning.running_means import RunningMeans
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.device_columns import KIND
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, IntArray, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import ClusterView, task_row

TRUST_AFTER = 1000
"""Gradient steps until the learned value counts in full after a start or a drift."""
LEARN_HARD = 20
"""Outcomes after a drift from which the time head learns with extra steps."""
STEPS_HARD = 10
RECENT = 500
"""Outcomes after a drift that get half of the attention."""
BIAS_RATE, BIAS_RATE_DRIFTED = 0.02, 0.5
LEAST_SECONDS = 1e-9
REWARD_RATE = 0.01
"""Of the running mean of rewards, which is for people to see."""
FINAL_RATE = 0.2
"""Share of the learning rate that is left at the end of training and after it."""
FINAL_EXPLORATION = 0.1
"""Share of the training's exploration that is left from half-time on."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What is configured; see `DQNScheduler`."""

    goals: Objective
    fractions: tuple[float, ...]
    gamma: float
    learning_rate: float
    epsilon: float
    training_epsilon: float
    use_backlog: bool
    use_target: bool
    count_waiting: bool
    seed: int


class Evaluation(NamedTuple):
    """What the agent expects of one task; see `policy.evaluate`."""

    x: FloatArray
    times: FloatArray
    completion: FloatArray
    order: IntArray
    response: FloatArray
    energy: FloatArray
    money: FloatArray
    value: FloatArray
    out: FloatArray


class Agent:
    """One agent for one node."""

    def __init__(self, layout: Layout, options: AgentOptions) -> None:
        self.layout, self.options = layout, options
        self.params = layout.empty()
        self.params[FRACTION : FRACTION + len(options.fractions)] = options.fractions
        self._set_switches()
        self.deep = DeepQ(
            layout,
            self.params,
            seed=options.seed,
            gamma=options.gamma,
            learning_rate=options.learning_rate,
            use_target=options.use_target,
        )
        self.rng = np.random.default_rng([options.seed, 1])
        self.means = RunningMeans()
        self.drift = DriftProbe([0] * layout.devices)
        self.names: tuple[str, ...] = ()
        self.training = 0
        self.seen = 0
        self.known = False
        self.kinds = np.zeros(layout.devices)
        self.stretch = 1.0
        self.trained_for = options.goals
        self._evaluation: tuple[ClusterView, int, Evaluation] | None = None
        self.forget_pending()
        self._weigh()

    def meet(self, view: ClusterView) -> None:
        """Look at the devices; only what is public."""
        if self.names == view.names:
            return
        self.names = view.names
        self.kinds = view.devices[:, KIND].copy()
        self.drift.groups = device_groups(view.devices)
        self.stretch = 1.0 + float(view.facts[PENALTY]) if view.facts[SPLIT] == 0.0 else 1.0

    def forget_pending(self) -> None:
        """Forget the decisions whose tasks have not finished: another race begins."""
        self.pending = PendingDecisions()

    # --- acting -----------------------------------------------------------------------------------------------------

    def decide(self, task: Task, view: ClusterView, learning: bool) -> Decision:
        """The action of the highest value; when learning, now and then another one, and the decision is remembered."""
        found = self._evaluate(task, view)
        value, order = found.value, found.order
        action, probe = int(np.argmax(value)), -1
        if learning:
            probe = self._wanted_probe()
            if probe >= 0:
                action = self._probe_action(probe, order, value)
            elif self.rng.random() < self.exploration:
                action = self._explore(found)
            seen = (column.astype(np.float32) for column in (found.x, found.response, found.energy, found.money))
            self.pending.add(PendingDecision(view.number, task.task_id, action, probe, *seen))
        out = found.out
        parts = take(action, value, self.params, view.devices, view.facts, order, found.times, found.completion, out)
        return Decision(tuple(Part(int(d), float(share), float(expected)) for d, share, expected in out[:parts]))

    def explain(self, task: Task, view: ClusterView) -> tuple[str, FloatArray]:
        """Why the best action is the best, and the seconds expected on every device."""
        found = self._evaluate(task, view)
        best, at_once = int(np.argmax(found.value)), self._cost(found)
        cheapest = best == int(np.argmin(at_once))
        ahead = "also the cheapest at once" if cheapest else "dearer at once, cheaper for the tasks to come"
        value, actions = found.value[best], self.layout.actions
        return f"Highest learned value {value:.3g} of {actions} actions; {ahead}.", found.times[SHARED]

    def _evaluate(self, task: Task, view: ClusterView) -> Evaluation:
        """Everything the agent expects of a task; explaining a decision and making it share one evaluation."""
        if self._evaluation is not None and self._evaluation[0] is view and self._evaluation[1] == task.task_id:
            return self._evaluation[2]
        layout, row = self.layout, task_row(task)
        x, times, completion = np.empty(layout.inputs), np.zeros((2, layout.devices)), np.empty(layout.devices)
        order, out = np.empty(layout.devices, dtype=np.int64), np.zeros((2, 3))
        response, energy, money, value = (np.empty(layout.actions) for _ in range(4))
        found = Evaluation(x, times, completion, order, response, energy, money, value, out)
        evaluate(row, view.devices, view.facts, self.params, *found)
        self._evaluation = view, task.task_id, found
        return found

    def _cost(self, found: Evaluation) -> FloatArray:
        """What each action costs at once."""
        cost: FloatArray = self.params[TIME_WEIGHT] * found.response + self.params[ENERGY_WEIGHT] * found.energy
        cost += self.params[MONEY_WEIGHT] * found.money
        return cost

    @property
    def exploration(self) -> float:
        """The present share of exploring decisions."""
        if not self.training:
            return self.options.epsilon
        done = min(1.0, self.seen / (0.5 * self.training))
        return self.options.training_epsilon * (1.0 - (1.0 - FINAL_EXPLORATION) * done)

    def _explore(self, found: Evaluation) -> int:
        """One of the cheaper half of the actions: what is known to be dear need not be tried to be sure."""
        possible = np.flatnonzero(found.value > -BAD)
        if len(possible) == 0:
            return 0
        cost = self._cost(found)
        cheap = possible[np.argsort(cost[possible], kind="stable")][: max(2, len(possible) // 2)]
        return int(self.rng.choice(cheap))

    def _wanted_probe(self) -> int:
        """The group of devices that must be tried now because little is known of it since the last drift; or -1."""
        if self.known or self.training:
            return -1
        for group in dict.fromkeys(self.drift.groups):
            if self.drift.group_seen(group) + self.pending.probes(group) < PROBES:
                return group
        return -1

    def _probe_action(self, group: int, order: IntArray, value: FloatArray) -> int:
        """The whole task on the best-ranked device of a group, or the best action when it does not fit there."""
        for position, device in enumerate(order):
            if self.drift.groups[device] == group:
                action = largest_share(position, self.layout.cpus, self.layout.fractions)
                if value[action] > -BAD:
                    return action
        return int(np.argmax(value))

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a finished task: times, drift, transition, one gradient step."""
        self._evaluation = None
        pending = self.pending.pop(task.task_id)
        if pending is None or outcome.failed:
            return
        self.seen += 1
        time = outcome.response_time if self.options.count_waiting else outcome.actual_time
        self.means.average(time, outcome.energy, outcome.cost)
        self._weigh()
        paid = self.params[TIME_WEIGHT] * time + self.params[ENERGY_WEIGHT] * outcome.energy
        paid += self.params[MONEY_WEIGHT] * outcome.cost
        self.means.reward += REWARD_RATE * (-float(paid) - self.means.reward)
        raw, records = np.array(raw_features(task_row(task))), [p for p in outcome.parts if not p.lost]
        stretch = self.stretch if len(records) == 2 else 1.0
        # A clock that has run for long may show no time at all for a very short part.
        wholes = [max(p.end - p.start, LEAST_SECONDS) / (p.share * stretch) for p in records]
        if not self.means.known:
            self.drift.learn_range(raw)
            self._take_scales(raw, wholes)
            return
        unlike = not self.training and self.drift.unlike(raw)
        signs = [
            self._learn_time(part.device, raw, whole, unlike)
            for part, whole in zip(decision.parts, wholes, strict=True)
        ]
        if any(signs) and self.known and not self.training and not self.drift.settling:
            self._start_probing()
        if not unlike or self.drift.settling:
            # One odd task does not make the odd ordinary; a new world does.
            self.drift.learn_range(raw)
        self.pending.finish(pending, time, outcome.energy)
        self.pending.move_complete(self.deep.transitions)
        self._step()

    def _take_scales(self, raw: FloatArray, wholes: list[float]) -> None:
        """Measure by the first outcomes; the decisions before were made by other scales and are not learned from."""
        scales = self.means.take_scales(raw, wholes)
        self.params[SECOND] = scales.second
        if self.means.known:
            self.params[MEAN : MEAN + TASK_FEATURES] = scales.mean
            self.params[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = scales.deviation
            self.forget_pending()

    def _learn_time(self, device: int, raw: FloatArray, whole: float, unlike: bool) -> bool:
        """Learn how long a part took; returns whether there are signs of another world."""
        features = np.empty(TASK_FEATURES)
        task_features(np.array([np.exp(raw[0]), raw[1], np.expm1(raw[2]), 0.0, 0.0]), self.params, features)
        target = float(np.log(whole / self.params[SECOND]))
        self.deep.durations.add(features=features, device=device, kind=self.kinds[device], log_seconds=target)
        error = target - expected_log(self.params, self.layout.devices, device, self.kinds[device], features)
        signs = self.drift.notice(device, error, unlike)
        hard = self.drift.since <= LEARN_HARD and not self.training
        for other, group in enumerate(self.drift.groups):
            # Like devices that have not been heard of since the drift share what was learned of this one.
            alike = hard and group == self.drift.groups[device] and self.drift.seen[other] == 0
            if other == device or alike:
                self.params[HEADER + other] += (BIAS_RATE_DRIFTED if hard else BIAS_RATE) * error
        return signs

    def _start_probing(self) -> None:
        """The world has changed: probe every group of devices, and let the known costs decide for a while."""
        self.drift.reset()
        self.means.start_over()
        self.params[TRUST] = 0.0
        self.known = False

    def _step(self) -> None:
        since = self.drift.since
        if not self.known and all(self.drift.group_seen(g) >= PROBES for g in set(self.drift.groups)):
            self.known = True
        recent = since if since <= RECENT and not self.training else 0
        if recent and since <= LEARN_HARD:
            self.deep.learn_times(STEPS_HARD, recent)
        if self.training:
            left = 1.0 - (1.0 - FINAL_RATE) * min(1.0, self.seen / self.training)
            self.deep.set_learning_rate(self.options.learning_rate * left)
        self.deep.learn(recent)
        self.params[TRUST] = min(1.0, self.params[TRUST] + 1.0 / TRUST_AFTER)

    def _weigh(self) -> None:
        """Costs are over the mean response, the mean energy and the mean bill."""
        goals, means = self.options.goals, self.means
        self.params[TIME_WEIGHT] = goals.time / max(means.response, 1e-12)
        self.params[ENERGY_WEIGHT] = goals.energy / max(means.energy, 1e-12)
        self.params[MONEY_WEIGHT] = goals.money / max(means.money, 1e-12)

    def _set_switches(self) -> None:
        """Parts that ablations take out."""
        self.params[USE_BACKLOG] = float(self.options.use_backlog)
        self.params[COUNT_WAITING] = float(self.options.count_waiting)

    # --- training, saving, loading ----------------------------------------------------------------------------------

    def begin_training(self, tasks: int) -> None:
        """Explore more and let the learning rate fall over so many tasks."""
        self.training, self.seen = max(1, tasks), 0
        self.forget_pending()

    def end_training(self) -> None:
        """Explore little from now on."""
        self.training, self.known = 0, True
        self.deep.set_learning_rate(self.options.learning_rate * FINAL_RATE)
        self.forget_pending()

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on, by the names that model files have.

        Without `replay` it is small, but learning goes on without past transitions.
        """
        return {
            "header": self.params[:HEADER].tolist(),
            "bias": self.layout.bias(self.params).tolist(),
            "weights": self.options.goals.to_json(),
            "usual": self.means.state(),
            "surprise": self.drift.state(),
            "deep": self.deep.state(replay),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`. What was learned for another objective is set aside, all but the times."""
        self._evaluation = None
        header = np.asarray(state["header"], dtype=np.float64)
        # Compiled code works out from the sizes where everything stands, and checks nothing.
        if len(header) > HEADER or not np.array_equal(header[:TRUST], self.params[:TRUST]):
            raise ValueError("its sizes do not fit together")
        divisors = header[[SECOND, *range(MEAN + TASK_FEATURES, MEAN + 2 * TASK_FEATURES)]]
        if not (np.isfinite(header).all() and divisors.min() > 0):
            raise ValueError("its figures are no numbers to work with")
        self.params[: len(header)] = header
        self._set_switches()
        self.layout.bias(self.params)[:] = state["bias"]
        self.means.restore(state["usual"])
        self.drift.restore(state["surprise"])
        if "weights" in state:
            self.trained_for = Objective.of(state["weights"])
        else:  # a file of an earlier version, which knew no money
            self.trained_for = Objective.of_energy_weight(state["energy_weight"])
        same = self.trained_for == self.options.goals
        self.deep.restore(state["deep"], values=same)
        if not same:
            self.params[TRUST] = 0.0
        self.deep.set_learning_rate(self.options.learning_rate * (FINAL_RATE if same else 1.0))
        self.rng.bit_generator.state = state["rng"]
        self.known = True
        self._weigh()
