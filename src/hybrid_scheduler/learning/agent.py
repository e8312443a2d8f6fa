"""The agent: thinks about a task, explores when that pays, and learns from what became of it.

Knows no physics: it sees the view's arrays and the outcomes of its own decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.learning.acting import BAD, evaluate, expected_log, raw_features, take, task_features
from hybrid_scheduler.learning.dqn import DeepQ
from hybrid_scheduler.learning.flight import Flight
from hybrid_scheduler.learning.memory import (
    COUNT_WAITING,
    ENERGY_WEIGHT,
    FRACTION,
    HEADER,
    MEAN,
    SECOND,
    TASK_FEATURES,
    TIME_WEIGHT,
    TRUST,
    USE_BACKLOG,
    Layout,
)
from hybrid_scheduler.learning.surprise import PROBES, Surprise, device_groups
from hybrid_scheduler.learning.usual import Usual
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, IntArray, Task
from hybrid_scheduler.model.view import KIND, PENALTY, SPLIT, ClusterView, task_row

TRUST_AFTER = 1000
"""Gradient steps until the learned value counts in full after a start or a surprise."""
LEARN_HARD = 20
"""Outcomes after a surprise from which the time head learns with extra steps."""
STEPS_HARD = 10
RECENT = 500
"""Outcomes after a surprise that get half of the attention."""
BIAS_RATE, BIAS_RATE_SURPRISED = 0.02, 0.5
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

    energy_weight: float
    fractions: tuple[float, ...]
    gamma: float
    learning_rate: float
    epsilon: float
    training_epsilon: float
    use_backlog: bool
    use_target: bool
    count_waiting: bool
    seed: int


class Thought(NamedTuple):
    """What the agent thinks about one task; see `acting.evaluate`."""

    row: FloatArray
    x: FloatArray
    seconds: FloatArray
    completion: FloatArray
    ranked: IntArray
    response: FloatArray
    energy: FloatArray
    value: FloatArray
    out: FloatArray


class Agent:
    """One agent for one node."""

    def __init__(self, layout: Layout, options: AgentOptions) -> None:
        self.layout, self.options = layout, options
        self.memory = layout.empty()
        self.memory[FRACTION : FRACTION + len(options.fractions)] = options.fractions
        self._set_switches()
        self.deep = DeepQ(
            layout,
            self.memory,
            seed=options.seed,
            gamma=options.gamma,
            learning_rate=options.learning_rate,
            use_target=options.use_target,
        )
        self.rng = np.random.default_rng([options.seed, 1])
        self.usual = Usual()
        self.surprise = Surprise([0] * layout.devices)
        self.names: tuple[str, ...] = ()
        self.training = 0
        self.seen = 0
        self.known = False
        self.kinds = np.zeros(layout.devices)
        self.stretch = 1.0
        self._thought: tuple[ClusterView, int, Thought] | None = None
        self.forget_flight()
        self._weigh()

    def meet(self, view: ClusterView) -> None:
        """Look at the devices; only what is public."""
        if self.names == view.names:
            return
        self.names = view.names
        self.kinds = view.devices[:, KIND].copy()
        self.surprise.groups = device_groups(view.devices)
        self.stretch = 1.0 + float(view.facts[PENALTY]) if view.facts[SPLIT] == 0.0 else 1.0

    def forget_flight(self) -> None:
        """Forget the tasks in flight: another race begins."""
        self.flight = Flight(self.layout)

    # --- acting -----------------------------------------------------------------------------------------------------

    def decide(self, task: Task, view: ClusterView, learning: bool) -> Decision:
        """The action of the highest value; when learning, now and then another one, and the decision is remembered."""
        devices, thought = view.devices, self._think(task, view)
        value, ranked = thought.value, thought.ranked
        action, probe = int(np.argmax(value)), -1
        if learning:
            probe = self._wanted_probe()
            if probe >= 0:
                action = self._probe_action(probe, ranked, value)
            elif self.rng.random() < self.exploration:
                action = self._explore(value, thought.response, thought.energy)
            raw = raw_features(thought.row)
            self.flight.note(view.number, task.task_id, action, probe, raw, thought.x, thought.response, thought.energy)
        out = thought.out
        parts = take(action, value, self.memory, devices, view.facts, ranked, thought.seconds, thought.completion, out)
        return Decision(tuple(Part(int(d), float(share), float(expected)) for d, share, expected in out[:parts]))

    def explain(self, task: Task, view: ClusterView) -> tuple[str, FloatArray]:
        """Why the best action is the best, and the seconds expected on every device."""
        thought = self._think(task, view)
        best, at_once = int(np.argmax(thought.value)), self._cost(thought.response, thought.energy)
        cheapest = best == int(np.argmin(at_once))
        ahead = "also the cheapest at once" if cheapest else "dearer at once, cheaper for the tasks to come"
        value, actions = thought.value[best], self.layout.actions
        return f"Highest learned value {value:.3g} of {actions} actions; {ahead}.", thought.seconds

    def _think(self, task: Task, view: ClusterView) -> Thought:
        """Everything the agent thinks about a task; explaining a decision and making it think once."""
        if self._thought is not None and self._thought[0] is view and self._thought[1] == task.task_id:
            return self._thought[2]
        layout, row = self.layout, task_row(task)
        x, seconds, completion = np.empty(layout.inputs), np.empty(layout.devices), np.empty(layout.devices)
        ranked, out = np.empty(layout.devices, dtype=np.int64), np.zeros((2, 3))
        response, energy, value = (np.empty(layout.actions) for _ in range(3))
        evaluate(
            row, view.devices, view.facts, self.memory, x, seconds, completion, ranked, response, energy, value, out
        )
        thought = Thought(row, x, seconds, completion, ranked, response, energy, value, out)
        self._thought = view, task.task_id, thought
        return thought

    def _cost(self, response: FloatArray, energy: FloatArray) -> FloatArray:
        """What each action costs at once."""
        cost: FloatArray = self.memory[TIME_WEIGHT] * response + self.memory[ENERGY_WEIGHT] * energy
        return cost

    @property
    def exploration(self) -> float:
        """The present share of exploring decisions."""
        if not self.training:
            return self.options.epsilon
        done = min(1.0, self.seen / (0.5 * self.training))
        return self.options.training_epsilon * (1.0 - (1.0 - FINAL_EXPLORATION) * done)

    def _explore(self, value: FloatArray, response: FloatArray, energy: FloatArray) -> int:
        """One of the cheaper half of the actions: what is known to be dear need not be tried to be sure."""
        possible = np.flatnonzero(value > -BAD)
        if len(possible) == 0:
            return 0
        cost = self._cost(response, energy)
        cheap = possible[np.argsort(cost[possible], kind="stable")][: max(2, len(possible) // 2)]
        return int(self.rng.choice(cheap))

    def _wanted_probe(self) -> int:
        """The group of devices that must be tried now because little is known of it since the last surprise; or -1."""
        if self.known or self.training:
            return -1
        for group in dict.fromkeys(self.surprise.groups):
            if self.surprise.group_seen(group) + self.flight.probes(group) < PROBES:
                return group
        return -1

    def _probe_action(self, group: int, ranked: Any, value: FloatArray) -> int:
        """The whole task on the best-ranked device of a group, or the best action when it does not fit there."""
        layout = self.layout
        for position, device in enumerate(ranked):
            if self.surprise.groups[device] != group:
                continue
            action = position
            if position >= layout.cpus:
                action = layout.cpus + (position - layout.cpus + 1) * layout.fractions - 1
            if value[action] > -BAD:
                return action
        return int(np.argmax(value))

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, outcome: Outcome) -> None:
        """Learn from a finished task: times, surprise, transition, one gradient step."""
        self._thought = None
        slot = self.flight.land(outcome.task_id)
        if slot is None or outcome.failed:
            return
        self.seen += 1
        time = outcome.response_time if self.options.count_waiting else outcome.actual_time
        self.usual.average(time, outcome.energy)
        self._weigh()
        paid = self.memory[TIME_WEIGHT] * time + self.memory[ENERGY_WEIGHT] * outcome.energy
        self.usual.reward += REWARD_RATE * (-float(paid) - self.usual.reward)
        raw, parts = self.flight.raw[slot], [p for p in outcome.parts if not p.lost]
        stretch = self.stretch if len(parts) == 2 else 1.0
        # A clock that has run for long may show no time at all for a very short part.
        wholes = [max(p.end - p.start, LEAST_SECONDS) / (p.share * stretch) for p in parts]
        if not self.usual.known:
            self.surprise.learn_range(raw)
            if self.usual.get_to_know(raw, wholes, self.memory):
                self.forget_flight()
            return
        unlike = not self.training and self.surprise.unlike(raw)
        signs = [
            self._learn_time(self.names.index(p.device), raw, whole, unlike)
            for p, whole in zip(parts, wholes, strict=True)
        ]
        if any(signs) and self.known and not self.training and not self.surprise.settling:
            self._be_surprised()
        if not unlike or self.surprise.settling:
            # One odd task does not make the odd ordinary; a new world does.
            self.surprise.learn_range(raw)
        self.flight.finish(slot, time, outcome.energy)
        self.flight.transitions(self.deep.transitions)
        self._step()

    def _learn_time(self, device: int, raw: FloatArray, whole: float, unlike: bool) -> bool:
        """Remember how long a part took; returns whether there are signs of another world."""
        features = np.empty(TASK_FEATURES)
        task_features(np.array([np.exp(raw[0]), raw[1], np.expm1(raw[2]), 0.0, 0.0]), self.memory, features)
        target = float(np.log(whole / self.memory[SECOND]))
        self.deep.durations.add(features=features, device=device, kind=self.kinds[device], log_seconds=target)
        error = target - expected_log(self.memory, self.layout.devices, device, self.kinds[device], features)
        signs = self.surprise.notice(device, error, unlike)
        hard = self.surprise.since <= LEARN_HARD and not self.training
        for other, group in enumerate(self.surprise.groups):
            # Like devices that have not been heard of since the surprise share what was learned of this one.
            alike = hard and group == self.surprise.groups[device] and self.surprise.seen[other] == 0
            if other == device or alike:
                self.memory[HEADER + other] += (BIAS_RATE_SURPRISED if hard else BIAS_RATE) * error
        return signs

    def _be_surprised(self) -> None:
        """The world has changed: probe every group of devices, and let the known costs decide for a while."""
        self.surprise.reset()
        self.usual.start_over()
        self.memory[TRUST] = 0.0
        self.known = False

    def _step(self) -> None:
        since = self.surprise.since
        if not self.known and all(self.surprise.group_seen(g) >= PROBES for g in set(self.surprise.groups)):
            self.known = True
        recent = since if since <= RECENT and not self.training else 0
        if recent and since <= LEARN_HARD:
            self.deep.learn_times(STEPS_HARD, recent)
        if self.training:
            left = 1.0 - (1.0 - FINAL_RATE) * min(1.0, self.seen / self.training)
            self.deep.set_learning_rate(self.options.learning_rate * left)
        self.deep.learn(recent)
        self.memory[TRUST] = min(1.0, self.memory[TRUST] + 1.0 / TRUST_AFTER)

    def _weigh(self) -> None:
        """Costs are over the mean response and the mean energy."""
        weight = self.options.energy_weight
        self.memory[TIME_WEIGHT] = (1.0 - weight) / max(self.usual.response, 1e-12)
        self.memory[ENERGY_WEIGHT] = weight / max(self.usual.energy, 1e-12)

    def _set_switches(self) -> None:
        """Parts that ablations take out."""
        self.memory[USE_BACKLOG] = float(self.options.use_backlog)
        self.memory[COUNT_WAITING] = float(self.options.count_waiting)

    # --- training, saving, loading ----------------------------------------------------------------------------------

    def begin_training(self, tasks: int) -> None:
        """Explore more and let the learning rate fall over so many tasks."""
        self.training, self.seen = max(1, tasks), 0
        self.forget_flight()

    def end_training(self) -> None:
        """Explore little from now on."""
        self.training, self.known = 0, True
        self.deep.set_learning_rate(self.options.learning_rate * FINAL_RATE)
        self.forget_flight()

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on; without `replay` it is small, but learning goes on from other memories."""
        bias, _, _ = self.layout.pieces(self.memory)
        return {
            "header": self.memory[:HEADER].tolist(),
            "bias": bias.tolist(),
            "energy_weight": self.options.energy_weight,
            "usual": self.usual.state(),
            "surprise": self.surprise.state(),
            "deep": self.deep.state(replay),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`. What was learned for another objective is set aside, all but the times."""
        self._thought = None
        bias, _, _ = self.layout.pieces(self.memory)
        header = np.asarray(state["header"], dtype=np.float64)
        # Compiled code works out from the sizes where everything stands, and checks nothing.
        if len(header) > HEADER or not np.array_equal(header[:TRUST], self.memory[:TRUST]):
            raise ValueError("its sizes do not fit together")
        divisors = header[[SECOND, *range(MEAN + TASK_FEATURES, MEAN + 2 * TASK_FEATURES)]]
        if not (np.isfinite(header).all() and divisors.min() > 0):
            raise ValueError("its figures are no numbers to work with")
        self.memory[: len(header)] = header
        self._set_switches()
        bias[:] = state["bias"]
        self.usual.restore(state["usual"])
        self.surprise.restore(state["surprise"])
        same = state["energy_weight"] == self.options.energy_weight
        self.deep.restore(state["deep"], values=same)
        if not same:
            self.memory[TRUST] = 0.0
        self.deep.set_learning_rate(self.options.learning_rate * (FINAL_RATE if same else 1.0))
        self.rng.bit_generator.state = state["rng"]
        self.known = True
        self._weigh()
