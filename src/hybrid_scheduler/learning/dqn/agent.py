"""The agent: evaluates a task, explores when that pays, and learns from what came of its decisions.

Knows no physics: it sees the view's arrays and the outcomes of its own decisions. What it has learned of queues holds
for every node; what it has learned of devices holds for the node at hand (`device_times`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.learning.actions import DEFAULT_CONGESTION, queues_with_data
from hybrid_scheduler.learning.agent_layout import (
    CHARGE,
    COEFFICIENTS,
    CONTEXT,
    COUNT_WAITING,
    EXCESS,
    FIGURES,
    FRACTION,
    GOALS,
    HEADER,
    MEAN,
    OPTION,
    SECOND,
    SERVICE,
    TASK_FEATURES,
    TIME_OUTPUTS,
    TRUST,
    USE_BACKLOG,
    USUAL,
    Layout,
)
from hybrid_scheduler.learning.device_times import DeviceFilter, basis, expected_seconds, raw_features, task_features
from hybrid_scheduler.learning.dqn.network import CAPACITY, DeepQ
from hybrid_scheduler.learning.dqn.policy import BAD, PUBLIC, evaluate, take
from hybrid_scheduler.learning.drift_probe import PROBES, DriftProbe, device_groups
from hybrid_scheduler.learning.pending_decisions import PendingDecision, PendingDecisions
from hybrid_scheduler.learning.running_means import RunningMeans
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.device_columns import AVAILABLE, GPU, KIND, MEMORY, WATTS
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, IntArray, Task, TaskBatch
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import ClusterView, task_row

TRUST_AFTER = 1000
"""Gradient steps until the learned value counts in full again after a drift."""
YOUNG = 10_000
"""Gradient steps up to which a network counts by its age: it learns for long before it beats what it starts from."""
LEARN_HARD = 20
"""Outcomes after a drift from which the time head learns with extra steps."""
STEPS_HARD = 10
RECENT = 500
"""Outcomes after a drift that get half of the attention."""
LEAST_SECONDS = 1e-9
LEAST_EXCESS = 0.02
"""Share of the usual response below which its unit of learning does not fall."""
REWARD_RATE = 0.01
"""Of the running mean of rewards, which is for people to see."""
TYPICAL_OVER = 1000
"""How slow a device usually is, is a plain mean over so many outcomes, then a running one of that length."""
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
    capacity: int = CAPACITY


class Evaluation(NamedTuple):
    """What the agent expects of one task; see `policy.evaluate`."""

    context: FloatArray
    options: FloatArray
    logs: FloatArray
    times: FloatArray
    completion: FloatArray
    shown: IntArray
    figures: FloatArray
    value: FloatArray
    out: FloatArray


class Agent:
    """One agent, on one node at a time."""

    def __init__(self, layout: Layout, options: AgentOptions) -> None:
        self.layout, self.options = layout, options
        self.params = layout.empty()
        self.deep = DeepQ(
            layout,
            self.params,
            seed=options.seed,
            gamma=options.gamma,
            learning_rate=options.learning_rate,
            use_target=options.use_target,
            capacity=options.capacity,
        )
        self.rng = np.random.default_rng([options.seed, 1])
        self.means = RunningMeans()
        self.training = 0
        self.seen = 0
        self.drift = DriftProbe([])
        self.table: FloatArray | None = None
        self.goals = options.goals
        self._set_switches()
        self._forget_node()

    def _forget_node(self) -> None:
        """Nothing is known of the devices, nor of what is usual on the node."""
        devices = self.layout.devices
        self.figures[:] = 0.0
        self.filter = DeviceFilter(devices)
        before, self.drift = self.drift, DriftProbe([0] * devices)
        # Tasks are not unlike any seen because the node is new.
        self.drift.low, self.drift.high, self.drift.alarms = before.low, before.high, before.alarms
        self.kinds = np.zeros(devices)
        self.stretch = 1.0
        self.unknown = True
        self._met = False
        self.means.start_over()
        self.forget_pending()
        self._weigh()

    @property
    def figures(self) -> FloatArray:
        """What is known of each device (`Layout.figures`); a view, so that a copy of the agent has its own."""
        return self.layout.figures(self.params)

    def enter(self, layout: Layout) -> None:
        """Go to another node: keep the networks and what they learn from, forget devices."""
        header = self.params[:HEADER].copy()
        header[:2] = layout.cpus, layout.gpus
        self.layout, self.params = layout, layout.empty()
        self.params[:HEADER] = header
        self.deep.move(layout, self.params)
        self.table = None
        self._forget_node()

    def doubt_node(self) -> None:
        """Keep what is known of devices and usual costs, but let the next outcomes count as on a new node."""
        self.filter.forget()
        self.means.start_over()
        self.forget_pending()

    def care_for(self, goals: Objective) -> None:
        """Change what counts."""
        self.goals = goals
        self._weigh()

    def meet(self, view: ClusterView) -> None:
        """Look at the devices; only what is public."""
        if self._met:
            return
        self._met, self.table = True, view.devices[:, PUBLIC]
        self.kinds = view.devices[:, KIND].copy()
        self.drift.groups = device_groups(view.devices)
        self.stretch = 1.0 + float(view.facts[PENALTY]) if view.facts[SPLIT] == 0.0 else 1.0

    def forget_pending(self) -> None:
        """Forget the decisions whose tasks have not finished: another race begins."""
        self.pending = PendingDecisions()
        self._evaluation: tuple[ClusterView, int, Evaluation] | None = None

    # --- acting -----------------------------------------------------------------------------------------------------

    def decide(self, task: Task, view: ClusterView, learning: bool) -> Decision:
        """The option of the highest value; when learning, now and then another one, and the decision is remembered."""
        found = self._evaluate(task, view)
        option, probe = int(np.argmax(found.value)), -1
        if learning:
            probe = self._wanted_probe(task, view)
            if probe < 0 and self.rng.random() < self.exploration:
                option = self._explore(found)
            self._remember(task, view, found, option, probe)
            if probe >= 0:
                return Decision.whole(probe, float(found.times[SHARED, probe]))
        out = found.out
        known = queues_with_data(view.devices, view.times), view.facts, found.shown, found.times, found.completion
        parts = take(option, found.value, self.params, *known, out)
        return Decision(tuple(Part(int(d), float(share), float(expected)) for d, share, expected in out[:parts]))

    def explain(self, task: Task, view: ClusterView) -> tuple[str, FloatArray]:
        """Why the best option is the best, and the seconds expected on every device."""
        found = self._evaluate(task, view)
        best = int(np.argmax(found.value))
        ahead = "dearer at once, cheaper for the tasks to come"
        if best == int(np.argmin(self._costs(found))):
            ahead = "also the cheapest at once"
        return f"Highest learned value {found.value[best]:.3g} of {len(found.value)} options; {ahead}.", found.times[
            SHARED
        ]

    def shortest_seconds(self, tasks: TaskBatch, view: ClusterView) -> FloatArray:
        """The seconds expected of each task on the device where they are least."""
        logs, times, features = np.empty(len(view.devices)), np.zeros((2, len(view.devices))), np.empty(TASK_FEATURES)
        shortest = np.empty(len(tasks))
        for position, row in enumerate(tasks.feature_rows()):
            task_features(row, self.params, features)
            expected_seconds(self.params, view.devices, features, logs, times)
            shortest[position] = times[SHARED].min()
        return shortest

    def _evaluate(self, task: Task, view: ClusterView) -> Evaluation:
        """Everything the agent expects of a task; explaining a decision and making it share one evaluation."""
        if self._evaluation is not None and self._evaluation[0] is view and self._evaluation[1] == task.task_id:
            return self._evaluation[2]
        devices, options = self.layout.devices, self.layout.options
        found = Evaluation(
            context=np.empty(CONTEXT),
            options=np.empty((options, OPTION)),
            logs=np.empty(devices),
            times=np.zeros((2, devices)),
            completion=np.empty(devices),
            shown=np.empty(self.layout.shown, dtype=np.int64),
            figures=np.empty((options, FIGURES)),
            value=np.empty(options),
            out=np.zeros((2, 3)),
        )
        evaluate(task_row(task), queues_with_data(view.devices, view.times), view.facts, self.params, *found)
        self._evaluation = view, task.task_id, found
        return found

    def _remember(self, task: Task, view: ClusterView, found: Evaluation, option: int, probe: int) -> None:
        legal = np.flatnonzero(found.value > -BAD)
        figures, params = found.figures[legal], self.params
        others = figures[:, 1] * params[GOALS + 1] / params[USUAL + 1]
        others += figures[:, 2] * params[GOALS + 2] / params[USUAL + 2]
        others *= params[USUAL] / params[EXCESS]
        fastest = float(figures[:, 3].min()) if len(legal) else 0.0
        place = int(np.searchsorted(legal, option))
        taken = probe < 0 and place < len(legal) and legal[place] == option
        self.pending.add(
            PendingDecision(
                view.number,
                task.task_id,
                place if taken else -1,
                probe,
                found.context.astype(np.float32),
                found.options[legal].astype(np.float32).ravel(),
                ((figures[:, 0] + figures[:, 4] - fastest) / params[EXCESS]).astype(np.float32),
                others.astype(np.float32),
                fastest,
                float(params[EXCESS]),
                float(params[GOALS]),
                found.logs,
            )
        )

    def _costs(self, found: Evaluation) -> FloatArray:
        """What each option costs at once."""
        costs: FloatArray = found.figures[:, :3] @ (self.params[GOALS : GOALS + 3] / self.params[USUAL : USUAL + 3])
        return costs

    @property
    def exploration(self) -> float:
        """The present share of exploring decisions."""
        if not self.training:
            return self.options.epsilon
        done = min(1.0, self.seen / (0.5 * self.training))
        return self.options.training_epsilon * (1.0 - (1.0 - FINAL_EXPLORATION) * done)

    def _explore(self, found: Evaluation) -> int:
        """One of the cheaper half of the options: what is known to be dear need not be tried to be sure."""
        possible = np.flatnonzero(found.value > -BAD)
        if len(possible) == 0:
            return 0
        cost = self._costs(found)
        cheap = possible[np.argsort(cost[possible], kind="stable")][: max(2, len(possible) // 2)]
        return int(self.rng.choice(cheap))

    def _wanted_probe(self, task: Task, view: ClusterView) -> int:
        """A device that must be tried now because little is known of it, or of its group since a drift; or -1.

        Of such devices the one with the shortest queue; none into which the task does not fit.
        """
        if not self.unknown:
            return -1
        best = -1
        for devices in self.drift.unheard():
            if int(self.drift.seen[devices].sum()) + self.pending.probes(devices) >= PROBES:
                continue
            for device in devices:
                row = view.devices[device]
                fits = row[KIND] != GPU or task.memory_required <= row[MEMORY]
                if row[AVAILABLE] > 0.0 and fits and (best < 0 or view.backlog[device] < view.backlog[best]):
                    best = device
        return best

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a finished task: times, drift, transition, one gradient step."""
        self._evaluation = None
        pending = self.pending.pop(task.task_id)
        if pending is None or outcome.failed:
            return
        self.seen += 1
        time = self._counted_time(task, outcome)
        energy = self._energy(decision, outcome)
        self.means.average(time, energy, outcome.cost, pending.fastest)
        self._weigh()
        paid = self.params[GOALS : GOALS + 3] / self.params[USUAL : USUAL + 3] @ (time, energy, outcome.cost)
        self.means.reward += REWARD_RATE * (-float(paid) - self.means.reward)
        raw, records = np.array(raw_features(task_row(task))), [p for p in outcome.parts if not p.lost]
        narrow = task.width == 1  # a gang takes its time on every device
        stretch = self.stretch if narrow and len(records) == 2 else 1.0
        # A clock that has run for long may show no time at all for a very short part.
        wholes = [max(p.end - p.start, LEAST_SECONDS) / (p.share * stretch if narrow else 1.0) for p in records]
        if not self.means.known:
            self.drift.learn_range(raw)
            self._take_scales(raw, wholes)
            return
        self._learn_typical(pending.logs)
        unlike = not self.training and self.drift.unlike(raw)
        signs = [
            self._learn_time(part.device, task, whole, unlike)
            for part, whole in zip(decision.parts, wholes, strict=True)
        ]
        if any(signs) and not self.unknown and not self.training and not self.drift.settling:
            self._start_probing()
        if not unlike or self.drift.settling:
            # One odd task does not make the odd ordinary; a new world does.
            self.drift.learn_range(raw)
        self.pending.finish(pending, time)
        self.pending.move_complete(self.deep.transitions)
        self._step()

    def _energy(self, decision: Decision, outcome: Outcome) -> float:
        """Joules; where no machine told them, what the public watts say of the busy seconds."""
        if not math.isnan(outcome.energy) or self.table is None:
            return outcome.energy
        records = (record for record in outcome.parts if not record.lost)
        watts = self.table[:, PUBLIC.index(WATTS)]
        busy = zip(decision.parts, records, strict=True)
        return float(sum(watts[part.device] * (record.end - record.start) for part, record in busy))

    def _counted_time(self, task: Task, outcome: Outcome) -> float:
        """The time a decision answers for; how long a task waited for its parents was decided with them."""
        if not self.options.count_waiting:
            return outcome.actual_time
        return outcome.finish_time - outcome.ready_time if task.dependencies else outcome.response_time

    def _take_scales(self, raw: FloatArray, wholes: list[float]) -> None:
        """Measure by the first outcomes; the decisions before were made by other scales and are not learned from."""
        scales = self.means.take_scales(raw, wholes)
        self.params[SECOND] = scales.second
        if self.means.known:
            self.params[MEAN : MEAN + TASK_FEATURES] = scales.mean
            self.params[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = scales.deviation
            self.forget_pending()

    def _learn_typical(self, logs: FloatArray) -> None:
        """Learn how slow each device usually is against the mean of all."""
        rate = 1.0 / min(self.means.count, TYPICAL_OVER)
        typical = self.figures[:, COEFFICIENTS]
        typical += rate * (logs - logs.mean() - typical)

    def _learn_time(self, device: int, task: Task, whole: float, unlike: bool) -> bool:
        """Learn how long a part took; returns whether there are signs of another world."""
        features, y, kind = np.empty(TASK_FEATURES), np.empty(TIME_OUTPUTS), self.kinds[device]
        task_features(task_row(task), self.params, features)
        basis(self.params, self.layout.first_weight, kind, features, y)
        log = float(np.log(whole / self.params[SECOND]))
        own = self.figures[device, :COEFFICIENTS]
        self.deep.durations.add(features=features, kind=kind, coefficients=own, log_seconds=log)
        error = self.filter.learn(device, own, features, y, log)
        signs = self.drift.notice(device, error, unlike)
        if self.drift.since <= LEARN_HARD and self.drift.happened and not self.training:
            for other, group in enumerate(self.drift.groups):
                # Like devices that have not been heard of since the drift share what was learned of this one.
                if group == self.drift.groups[device] and self.drift.seen[other] == 0:
                    self.figures[other, :COEFFICIENTS] = own
        return signs

    def _start_probing(self) -> None:
        """The world has changed: probe every group of devices, and let the known costs decide for a while."""
        self.drift.reset()
        self.filter.forget()
        self.means.start_over()
        self.params[TRUST] = 0.0
        self.unknown = True

    def _step(self) -> None:
        since = self.drift.since
        if self.unknown and not self.drift.unheard():
            self.unknown = False
        recent = since if self.drift.happened and since <= RECENT and not self.training else 0
        if recent and since <= LEARN_HARD:
            self.deep.learn_times(STEPS_HARD, recent)
        if self.training:
            left = 1.0 - (1.0 - FINAL_RATE) * min(1.0, self.seen / self.training)
            self.deep.set_learning_rate(self.options.learning_rate * left)
        self.deep.learn(recent)
        self.params[TRUST] = min(self._most_trust(), self.params[TRUST] + 1.0 / TRUST_AFTER)

    def _most_trust(self) -> float:
        """While it trains, what a network does is part of the lesson; later a young one counts only in part."""
        return 1.0 if self.training else min(1.0, self.deep.updates / YOUNG)

    def _weigh(self) -> None:
        """Costs are over the mean response, the mean energy and the mean bill."""
        goals, means = self.goals, self.means
        self.params[GOALS : GOALS + 3] = goals.time, goals.energy, goals.money
        usual = means.response, means.energy, means.money
        self.params[USUAL : USUAL + 3] = np.maximum(usual, 1e-12)
        self.params[SERVICE] = max(means.service, 1e-12)
        self.params[EXCESS] = max(means.response - means.service, LEAST_EXCESS * means.response, 1e-12)

    def _set_switches(self) -> None:
        """What is configured, and parts that ablations take out."""
        options = self.options
        self.params[FRACTION : FRACTION + len(options.fractions)] = options.fractions
        self.params[USE_BACKLOG] = float(options.use_backlog)
        self.params[COUNT_WAITING] = float(options.count_waiting)
        self.params[CHARGE] = DEFAULT_CONGESTION if options.gamma > 0.0 else 0.0

    # --- training, saving, loading ----------------------------------------------------------------------------------

    def begin_training(self, tasks: int) -> None:
        """Explore more and let the learning rate fall over so many tasks."""
        self.training, self.seen = max(1, tasks), 0
        self.forget_pending()

    def end_training(self) -> None:
        """Explore little from now on."""
        self.training = 0
        self.params[TRUST] = min(self._most_trust(), self.params[TRUST])
        self.deep.set_learning_rate(self.options.learning_rate * FINAL_RATE)
        self.forget_pending()

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on, by the names that model files have.

        Without `replay` it is small, but learning goes on without past transitions.
        """
        contents: dict[str, Any] = {
            "header": self.params[:HEADER].tolist(),
            "usual": self.means.state(),
            "range": [self.drift.low.tolist(), self.drift.high.tolist()],
            "deep": self.deep.state(replay),
            "rng": self.rng.bit_generator.state,
        }
        if self.table is not None:
            contents["node"] = {
                "table": self.table.tolist(),
                "figures": self.figures.tolist(),
                "filter": self.filter.state(),
                "drift": self.drift.state(),
                "unknown": self.unknown,
            }
        return contents

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self._evaluation = None
        header = np.asarray(state["header"], dtype=np.float64)
        # Compiled code works out from the sizes where everything stands, and checks nothing.
        if len(header) != HEADER or not np.array_equal(header[:TRUST], self.params[:TRUST]):
            raise ValueError("its sizes do not fit together")
        divisors = header[[SECOND, SERVICE, EXCESS, *range(USUAL, USUAL + 3), *range(MEAN + TASK_FEATURES, FRACTION)]]
        if not (np.isfinite(header).all() and divisors.min() > 0):
            raise ValueError("its figures are no numbers to work with")
        self.params[:HEADER] = header
        self._set_switches()
        self.means.restore(state["usual"])
        self.drift.low, self.drift.high = (np.array(end, dtype=np.float64) for end in state["range"])
        self.deep.restore(state["deep"])
        self.deep.set_learning_rate(self.options.learning_rate * FINAL_RATE)
        self.rng.bit_generator.state = state["rng"]
        if "node" in state:
            known = state["node"]
            self.table = np.asarray(known["table"], dtype=np.float64)
            self.figures[:] = np.asarray(known["figures"], dtype=np.float64)
            self.filter.restore(known["filter"])
            self.drift.restore(known["drift"])
            self.unknown = bool(known["unknown"])
        else:
            self._forget_node()
        self._weigh()
