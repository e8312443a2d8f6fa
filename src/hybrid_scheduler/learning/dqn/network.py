"""The learning half of the agent: a dueling double deep Q-network and a time head, trained with PyTorch.

The value of an action is what it costs at once, as far as the agent knows, plus what the network has learned about
everything that follows::

    Q(s, a) = N(s, a) - cost(s, a)        cost = sum over the goals of weight * figure / mean figure

where the figures are response time, energy and money. What an action costs in money is known at once and is left out of
what is learned: a queue makes the tasks to come wait, it does not make them dearer, and targets that hold their bills
would drown in them.

`cost` comes from the backlogs the agent sees and from the times its second head has learned, so an untrained network
is the myopic policy on learned times, and the network only has to learn the price of the queue that an action leaves to
the tasks to come.

Deep Q-learning: Mnih et al., Nature 518 (2015); double: van Hasselt, Guez, Silver, AAAI 2016; dueling: Wang et al.,
ICML 2016. A net this small spends most of an automatic gradient step on bookkeeping; written out, with every buffer
made once, a step takes little more than its matrix products (`benchmarks/race.py`). A test compares it with autograd.

The weights live twice: as PyTorch tensors that learn, and in the flat array compiled code acts on (`dqn.policy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.adam import Adam, Weights, one_thread
from hybrid_scheduler.learning.dqn.policy import (
    EMBEDDING,
    ENERGY_WEIGHT,
    HEADER,
    MONEY_WEIGHT,
    TASK_FEATURES,
    TIME_HIDDEN,
    TIME_INPUTS,
    TIME_WEIGHT,
    Layout,
)
from hybrid_scheduler.learning.replay_buffer import ReplayBuffer
from hybrid_scheduler.model.task import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.float32]
Column = NDArray[np.float32]

CAPACITY = 50_000
"""Transitions, and durations, to learn from."""
BATCH = 64
TARGET_EVERY = 50
GRADIENT_NORM = 10.0
HUBER = 10.0
"""Errors beyond so many mean costs count linearly: one huge task must not shake the network."""


class DeepQ:
    """Networks, replay buffers and optimisers of one agent.

    Args:
        layout: Sizes.
        params: The flat array that compiled code acts on; kept up to date here.
        seed: Of the weights and of the sampling.
        gamma: Discount per decision.
        learning_rate: Of Adam.
        use_target: Whether targets come from a delayed copy of the network.
    """

    def __init__(
        self, layout: Layout, params: FloatArray, *, seed: int, gamma: float, learning_rate: float, use_target: bool
    ) -> None:
        import torch

        self.layout, self.params = layout, params
        self.gamma, self.use_target = gamma, use_target
        self._rate = learning_rate
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(seed)
        # Both start silent: no device differs from another, and nothing is known beyond the immediate cost.
        self.times = TimeHead(layout, BATCH, generator)
        self.values = ValueNetwork(layout, BATCH, generator)
        first = HEADER + layout.devices
        second = first + len(self.times.weights.flat)
        self._adams = [
            Adam(self.times.weights, params, first),
            Adam(self.values.weights, params, second),
        ]
        seen = {"state": layout.inputs, "responses": layout.actions, "energies": layout.actions}
        after = {f"next_{name}": width for name, width in seen.items()}
        columns = {**seen, "action": 0, "response": 0, "energy": 0, **after}
        self.transitions = ReplayBuffer(CAPACITY, {**columns, "next_monies": layout.actions}, added=("next_monies",))
        self.durations = ReplayBuffer(CAPACITY, {"features": TASK_FEATURES, "device": 0, "kind": 0, "log_seconds": 0})
        self.updates = 0
        self.loss = float("nan")
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
            second, joule, dollar = (float(self.params[k]) for k in (TIME_WEIGHT, ENERGY_WEIGHT, MONEY_WEIGHT))
            drawn = self.transitions.sample(self.rng, BATCH)
            self.loss += self.values.learn(drawn, (second, joule, dollar), self.gamma, delayed=self.use_target)
        self._step(values=both, clip=True)
        self.updates += 1
        if self.updates % TARGET_EVERY == 0:
            self.values.refresh_target()

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
        for adam in adams:
            adam.step(self._rate, scale)

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
            contents["transitions"] = self.transitions.state()
            contents["durations"] = self.durations.state()
            contents["rng"] = self.rng.bit_generator.state
        return contents

    def restore(self, contents: dict[str, Any], *, values: bool = True) -> None:
        """Go on from `state`; without `values` only from what it knows of times."""
        self.times.weights.restore(contents["time_weights"])
        if values:
            self.values.weights.restore(contents["value_weights"])
            self.values.target.restore(contents.get("target", contents["value_weights"]))
        self.updates = contents["updates"]
        if "optimiser" in contents and values:
            for adam, state in zip(self._adams, contents["optimiser"], strict=True):
                adam.restore(state)
            self.transitions.restore(contents["transitions"])
            self.durations.restore(contents["durations"])
            self.rng.bit_generator.state = contents["rng"]
        self.export()


class ValueNetwork:
    """The learned part of the value of every action, and its delayed copy.

    Args:
        layout: Sizes.
        batch: Transitions per gradient step.
        generator: Of the weights.
    """

    def __init__(self, layout: Layout, batch: int, generator: Any) -> None:
        import torch

        self.weights = Weights(layout.value_shapes, generator, silent=(4, 5))
        self.target = Weights(layout.value_shapes, None)
        self.refresh_target()
        self._batch = batch
        hidden, outputs = layout.hidden, 1 + layout.actions
        # The online net sees states and next states in one go: half of the rows each.
        self._input = torch.empty(2 * batch, layout.inputs)
        self._first, self._second = (torch.empty(2 * batch, hidden) for _ in range(2))
        self._out = torch.empty(2 * batch, outputs)
        self._delayed = torch.empty(batch, hidden), torch.empty(batch, hidden), torch.empty(batch, outputs)
        self._back = torch.empty(batch, hidden), torch.empty(batch, hidden), torch.empty(batch, outputs)

    def refresh_target(self) -> None:
        """Let the delayed copy catch up."""
        self.target.flat.copy_(self.weights.flat)

    def learn(self, batch: dict[str, Any], weigh: tuple[float, float, float], gamma: float, *, delayed: bool) -> float:
        """Put the gradient of a batch of transitions into `weights.gradient`; returns the loss (Huber's).

        Args:
            batch: Columns of the transitions.
            weigh: What a second of response, a joule and a dollar cost.
            gamma: Discount.
            delayed: Whether the delayed copy judges the next state.
        """
        n, x = self._batch, self._input
        rows = x.numpy()
        rows[:n], rows[n:] = batch["state"], batch["next_state"]
        forward(self.weights.pieces, x, self._first, self._second, self._out)
        judged = self._out[n:]
        if delayed:
            forward(self.target.pieces, x[n:], *self._delayed)
            judged = self._delayed[2]
        loss: float = _value_slopes(
            self._out.numpy(),
            judged.numpy(),
            batch["responses"],
            batch["energies"],
            batch["action"],
            batch["response"],
            batch["energy"],
            batch["next_responses"],
            batch["next_energies"],
            batch["next_monies"],
            weigh[0],
            weigh[1],
            weigh[2],
            gamma,
            self._back[2].numpy(),
        )
        self._backward()
        return loss

    def _backward(self) -> None:
        """From the slopes of the loss in the outputs to the gradient of every weight."""
        import torch

        n = self._batch
        x, h1, h2 = self._input[:n], self._first[:n], self._second[:n]
        back1, back2, back = self._back
        g1, gb1, g2, gb2, g3, gb3 = self.weights.gradients
        _, _, w2, _, w3, _ = self.weights.pieces
        torch.mm(back.t(), h2, out=g3)
        torch.sum(back, 0, out=gb3)
        torch.mm(back, w3, out=back2)
        _rectified(back2.numpy(), h2.numpy())
        torch.mm(back2.t(), h1, out=g2)
        torch.sum(back2, 0, out=gb2)
        torch.mm(back2, w2, out=back1)
        _rectified(back1.numpy(), h1.numpy())
        torch.mm(back1.t(), x, out=g1)
        torch.sum(back1, 0, out=gb1)


class TimeHead:
    """How long a task takes on each device, learned from outcomes: predicts the log of seconds.

    Two layers on the task's features, an embedding of the device and its kind.

    Args:
        layout: Sizes.
        batch: Outcomes per gradient step.
        generator: Of the weights.
    """

    def __init__(self, layout: Layout, batch: int, generator: Any) -> None:
        import torch

        self.weights = Weights(layout.time_shapes, generator, silent=(0, 5))
        self._input, self._input_back = (torch.empty(batch, TIME_INPUTS) for _ in range(2))
        self._first, self._second, self._back1, self._back2 = (torch.empty(batch, TIME_HIDDEN) for _ in range(4))
        self._out, self._back = torch.empty(batch, 1), torch.empty(batch, 1)

    def learn(self, batch: dict[str, Any]) -> float:
        """Put the gradient of a batch of outcomes into `weights.gradient`; returns the loss (Huber's)."""
        import torch

        x, h1, h2, out = self._input, self._first, self._second, self._out
        back1, back2, back, input_back = self._back1, self._back2, self._back, self._input_back
        embedding, w1, b1, w2, b2, w3, b3 = self.weights.pieces
        g_embedding, g1, gb1, g2, gb2, g3, gb3 = self.weights.gradients
        _time_inputs(x.numpy(), batch["features"], batch["device"], batch["kind"], embedding.numpy())
        torch.addmm(b1, x, w1.t(), out=h1).tanh_()
        torch.addmm(b2, h1, w2.t(), out=h2).tanh_()
        torch.addmm(b3, h2, w3.t(), out=out)
        loss: float = _time_slopes(out.numpy(), batch["log_seconds"], back.numpy())
        torch.mm(back.t(), h2, out=g3)
        torch.sum(back, 0, out=gb3)
        torch.mm(back, w3, out=back2)
        _through_tanh(back2.numpy(), h2.numpy())
        torch.mm(back2.t(), h1, out=g2)
        torch.sum(back2, 0, out=gb2)
        torch.mm(back2, w2, out=back1)
        _through_tanh(back1.numpy(), h1.numpy())
        torch.mm(back1.t(), x, out=g1)
        torch.sum(back1, 0, out=gb1)
        torch.mm(back1, w1, out=input_back)
        _to_embedding(input_back.numpy(), batch["device"], g_embedding.numpy())
        return loss


def forward(pieces: list[Tensor], x: Tensor, h1: Tensor, h2: Tensor, out: Tensor) -> None:
    """Two rectified layers, then state value and advantages."""
    import torch

    w1, b1, w2, b2, w3, b3 = pieces
    torch.addmm(b1, x, w1.t(), out=h1).clamp_min_(0.0)
    torch.addmm(b2, h1, w2.t(), out=h2).clamp_min_(0.0)
    torch.addmm(b3, h2, w3.t(), out=out)


@nb.njit(cache=True)
def _value_slopes(
    out: Rows,
    judged: Rows,
    responses: Rows,
    energies: Rows,
    action: Column,
    response: Column,
    energy: Column,
    next_responses: Rows,
    next_energies: Rows,
    next_monies: Rows,
    second: float,
    joule: float,
    dollar: float,
    gamma: float,
    back: Rows,
) -> float:
    """Write the slope of the loss in every output into `back`; returns the loss.

    Wanted is what was paid and, discounted, what the judge says of the action the online net likes best in the next
    state; the value of an action is the state value plus its centred advantage less its immediate cost.
    """
    n, actions = len(action), out.shape[1] - 1
    loss = 0.0
    for i in range(n):
        best, highest, centre, centre_judged = 0, -np.inf, 0.0, 0.0
        for a in range(actions):
            # The state value and the centre are the same for all actions, so the best does not depend on them.
            value = out[n + i, 1 + a] - second * next_responses[i, a] - joule * next_energies[i, a]
            value -= dollar * next_monies[i, a]
            if value > highest:
                best, highest = a, value
            centre += out[i, 1 + a] / actions
            centre_judged += judged[i, 1 + a] / actions
        future = judged[i, 0] + judged[i, 1 + best] - centre_judged
        future -= second * next_responses[i, best] + joule * next_energies[i, best]
        chosen = int(action[i])
        value = out[i, 0] + out[i, 1 + chosen] - centre
        value -= second * responses[i, chosen] + joule * energies[i, chosen]
        error = value + second * response[i] + joule * energy[i] - gamma * future
        slope = min(max(error, -HUBER), HUBER)
        loss += slope * (error - 0.5 * slope) / n
        slope /= n
        back[i, 0] = slope
        for a in range(actions):
            back[i, 1 + a] = -slope / actions
        back[i, 1 + chosen] += slope
    return loss


@nb.njit(cache=True)
def _rectified(back: Rows, rectified: Rows) -> None:
    """No slope passes where a rectified unit is silent."""
    for i in range(back.shape[0]):
        for j in range(back.shape[1]):
            back[i, j] = back[i, j] if rectified[i, j] > 0.0 else np.float32(0.0)


@nb.njit(cache=True)
def _time_inputs(x: Rows, features: Rows, device: Column, kind: Column, embedding: Rows) -> None:
    for i in range(len(x)):
        x[i, :TASK_FEATURES] = features[i]
        x[i, TASK_FEATURES : TASK_FEATURES + EMBEDDING] = embedding[int(device[i])]
        x[i, TIME_INPUTS - 1] = kind[i]


@nb.njit(cache=True)
def _time_slopes(out: Rows, wanted: Column, back: Rows) -> float:
    """Write the slope of Huber's loss in every output into `back`; returns the loss."""
    loss, n = 0.0, len(wanted)
    for i in range(n):
        error = float(out[i, 0] - wanted[i])
        slope = min(max(error, -1.0), 1.0)
        loss += slope * (error - 0.5 * slope) / n
        back[i, 0] = slope / n
    return loss


@nb.njit(cache=True)
def _through_tanh(back: Rows, activity: Rows) -> None:
    for i in range(back.shape[0]):
        for j in range(back.shape[1]):
            back[i, j] *= np.float32(1.0) - activity[i, j] * activity[i, j]


@nb.njit(cache=True)
def _to_embedding(input_back: Rows, device: Column, gradient: Rows) -> None:
    gradient[:] = 0.0
    for i in range(len(input_back)):
        gradient[int(device[i])] += input_back[i, TASK_FEATURES : TASK_FEATURES + EMBEDDING]
