"""The learning half of the agent: a dueling double deep Q-network and a time head, trained with PyTorch.

The value of an option is what it costs at once, as far as the agent knows, plus what the network has learned about the
time of everything that follows, in units of the usual excess of a response over what an idle node would need::

    Q(s, o) = weight of time * N(s, o) * usual excess / usual response - cost(s, o)
    cost = sum over the goals of weight * figure / usual figure
    N(s, o) = V(context) + A(context, o) - mean of A over the options that can be taken

where the figures are response time, energy and money. What a task costs in energy and money is known at once and is
left out of what is learned: a queue makes the tasks to come wait, it does not make them dearer. The weights of the
goals are inputs, and decide which option comes next in the targets.

`cost` comes from the backlogs the agent sees and from the times its second head has learned, so an untrained network
is the myopic policy on learned times, and the network only has to learn the price of the queue that an option leaves to
the tasks to come.

Deep Q-learning: Mnih et al., Nature 518 (2015); double: van Hasselt, Guez, Silver, AAAI 2016; dueling: Wang et al.,
ICML 2016. A net this small spends most of an automatic gradient step on bookkeeping; written out, with every buffer
made once, a step takes little more than its matrix products (`benchmarks/race.py`). A test compares it with autograd.

The target network is a running mean of the one that learns (Lillicrap et al., ICLR 2016), and the agent acts by it.
The weights live twice: as PyTorch tensors that learn, and in the flat array compiled code acts on (`dqn.layout`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.learning.adam import Adam, one_thread
from hybrid_scheduler.learning.dqn.layout import (
    COEFFICIENTS,
    CONTEXT,
    MOST_OPTIONS,
    OPTION,
    TASK_FEATURES,
    Layout,
)
from hybrid_scheduler.learning.dqn.times import TimeHead
from hybrid_scheduler.learning.dqn.value_network import ValueNetwork
from hybrid_scheduler.learning.replay_buffer import ReplayBuffer
from hybrid_scheduler.model.task import FloatArray

CAPACITY = 20_000
"""Transitions, and durations, to learn from."""
BATCH = 64
FOLLOW = 1e-4
"""Share of the difference by which the target network follows the one that learns, with every step, in the long run."""
AVERAGE_LAST = 5.0
"""At first it follows faster: it is about the mean over the last one of so many parts of the steps so far."""
GRADIENT_NORM = 10.0


def transition_columns(options: int) -> dict[str, int]:
    """Name and width of the columns of a transition between decisions of at most so many options.

    The options that can be taken come first: `legal` of them. `gap` is what was paid beyond what the chosen option was
    expected to cost; `next_response` what each next option is expected to cost beyond the best on an idle node;
    `next_other` its energy and money, weighted, all in units of the usual excess; `weight` the weight of time.
    """
    return {
        "context": CONTEXT,
        "options": options * OPTION,
        "legal": 0,
        "chosen": 0,
        "gap": 0,
        "next_context": CONTEXT,
        "next_options": options * OPTION,
        "next_legal": 0,
        "next_response": options,
        "next_other": options,
        "weight": 0,
    }


class DeepQ:
    """Networks, replay buffers and optimisers of one agent.

    Args:
        layout: Sizes.
        params: The flat array that compiled code acts on; kept up to date here.
        seed: Of the weights and of the sampling.
        gamma: Discount per decision.
        learning_rate: Of Adam.
        use_target: Whether targets come from a delayed copy of the network.
        capacity: Transitions to learn from.
    """

    def __init__(
        self,
        layout: Layout,
        params: FloatArray,
        *,
        seed: int,
        gamma: float,
        learning_rate: float,
        use_target: bool,
        capacity: int = CAPACITY,
    ) -> None:
        import torch

        self.gamma, self.use_target = gamma, use_target
        self._rate = learning_rate
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(seed)
        # Both start silent: no device differs from another, and nothing is known beyond the immediate cost.
        self.times = TimeHead(layout, BATCH, generator)
        self.values = ValueNetwork(layout, BATCH, generator)
        self._adams = [
            Adam(self.times.weights, params, layout.first_weight),
            Adam(
                self.values.weights,
                params,
                layout.first_weight + len(self.times.weights.flat),
                average=self.values.target,
            ),
        ]
        self.transitions = ReplayBuffer(capacity, transition_columns(layout.options))
        self.durations = ReplayBuffer(
            CAPACITY, {"features": TASK_FEATURES, "kind": 0, "coefficients": COEFFICIENTS, "log_seconds": 0}
        )
        self.options = layout.options
        self.updates = 0
        self.loss = float("nan")
        self.export()

    def move(self, layout: Layout, params: FloatArray) -> None:
        """Go on on another node, whose flat array this is."""
        start = layout.first_weight
        for adam in self._adams:
            adam.move(params, start)
            start += len(adam.weights.flat)
        columns = transition_columns(layout.options)
        if len(self.transitions) == 0:
            self.options, self.transitions = layout.options, ReplayBuffer(self.transitions.capacity, columns)
        elif layout.options > self.options:
            self.options, self.transitions = layout.options, self.transitions.widened(columns)
        self.export()

    def export(self) -> None:
        """Bring the flat array up to date with the tensors."""
        for adam in self._adams:
            adam.export()

    def learn(self, recent: int = 0) -> None:
        """One gradient step on both heads; `recent` outcomes get half of the attention."""
        if len(self.durations) > 0:
            with one_thread():
                self._learn(recent)

    def _learn(self, recent: int) -> None:
        self.loss = self.times.learn(self.durations.sample(self.rng, BATCH, recent))
        both = len(self.transitions) >= BATCH
        if both:
            drawn = self.transitions.sample(self.rng, BATCH)
            self.loss += self.values.learn(drawn, self.gamma, delayed=self.use_target)
        self._step(values=both, clip=True)
        self.updates += 1

    def learn_times(self, steps: int, recent: int) -> None:
        """Learn hard from the newest outcomes: gradient steps on the time head alone."""
        with one_thread():
            for _ in range(steps):
                self.times.learn(self.durations.sample(self.rng, BATCH, recent))
                self._step(values=False, clip=False)

    def _step(self, *, values: bool, clip: bool) -> None:
        """Go along the gradients; without `values` the value network stays as it is."""
        adams = self._adams[: 1 + values]
        scale = 1.0
        if clip:
            norm = sum(adam.squared_norm() for adam in adams) ** 0.5
            scale = min(1.0, GRADIENT_NORM / max(norm, 1e-12))
        follow = max(FOLLOW, AVERAGE_LAST / (self.updates + AVERAGE_LAST))
        for adam in adams:
            adam.step(self._rate, scale, follow)

    def average(self) -> None:
        """Take the mean of the value weights that were kept (Polyak and Juditsky, SIAM J. Control Optim. 30, 1992)."""
        self.values.average()
        self.export()

    def set_learning_rate(self, rate: float) -> None:
        """Change the optimiser's step size."""
        self._rate = rate

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on learning; without `replay`, what is needed to go on acting."""
        contents: dict[str, Any] = {
            "time_weights": self.times.weights.state(),
            "value_weights": self.values.weights.state(),
            "updates": self.updates,
        }
        if replay:
            contents["target"] = self.values.target.state()
            contents["optimiser"] = [adam.state() for adam in self._adams]
            contents["options"] = self.options
            contents["transitions"] = self.transitions.state()
            contents["durations"] = self.durations.state()
            contents["rng"] = self.rng.bit_generator.state
        return contents

    def restore(self, contents: dict[str, Any]) -> None:
        """Go on from `state`."""
        self.times.weights.restore(contents["time_weights"])
        self.values.weights.restore(contents["value_weights"])
        self.values.target.restore(contents.get("target", contents["value_weights"]))
        self.updates = contents["updates"]
        if "optimiser" in contents:
            for adam, state in zip(self._adams, contents["optimiser"], strict=True):
                adam.restore(state)
            options = int(contents["options"])
            if not self.options <= options <= MOST_OPTIONS:
                raise ValueError(f"its transitions have {options} options, but must have {self.options} or more")
            # An agent that has been on a larger node has wider ones.
            self.options = options
            self.transitions = ReplayBuffer(self.transitions.capacity, transition_columns(options))
            self.transitions.restore(contents["transitions"])
            self.durations.restore(contents["durations"])
            self.rng.bit_generator.state = contents["rng"]
        self.export()
