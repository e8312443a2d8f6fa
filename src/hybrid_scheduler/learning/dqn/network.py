"""The learning half of the agent: a dueling double deep Q-network and a time head, trained with PyTorch.

The value of an option is what it costs at once, as far as the agent knows, plus what the network has learned about the
time of everything that follows, in units of the usual excess of a response over what an idle node would need::

    Q(s, o) = weight of time * (N(s, o) * usual excess - charge(s, o)) / usual response - cost(s, o)
    cost = sum over the goals of weight * figure / usual figure
    N(s, o) = V(context) + A(context, o) - mean of A over the options that can be taken

where the figures are response time, energy and money. What a task costs in energy and money is known at once and is
left out of what is learned: a queue makes the tasks to come wait, it does not make them dearer. The weights of the
goals are inputs, and decide which option comes next in the targets.

`cost` comes from the backlogs the agent sees and from the times its second head has learned; `charge` is a first guess
at the price of the queue that an option leaves to the tasks to come, the forests' one (seconds of work times parts
queued there, ADR 7). So an untrained network is `hybrid_ml` on the agent's own times, and it only has to learn where
that price is wrong. To begin with a guess of the value changes what is learned as little as shaping rewards by a
potential (Ng, Harada, Russell, ICML 1999; Wiewiora, J. Artif. Intell. Res. 19, 2003).

Deep Q-learning: Mnih et al., Nature 518 (2015); double: van Hasselt, Guez, Silver, AAAI 2016; dueling: Wang et al.,
ICML 2016. A net this small spends most of an automatic gradient step on bookkeeping; written out, with every buffer
made once, a step takes little more than its matrix products (`benchmarks/race.py`). A test compares it with autograd.

The target network is a running mean of the one that learns (Lillicrap et al., ICLR 2016), and the agent acts by it.
The weights live twice: as PyTorch tensors that learn, and in the flat array compiled code acts on (`agent_layout`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.adam import Adam, Weights, one_thread
from hybrid_scheduler.learning.agent_layout import (
    COEFFICIENTS,
    CONTEXT,
    MOST_OPTIONS,
    OPTION,
    TASK_FEATURES,
    Layout,
    second_layer,
)
from hybrid_scheduler.learning.device_times import TimeHead
from hybrid_scheduler.learning.replay_buffer import ReplayBuffer
from hybrid_scheduler.model.task import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.float32]
Column = NDArray[np.float32]

CAPACITY = 20_000
"""Transitions, and durations, to learn from."""
BATCH = 64
FOLLOW = 1e-4
"""Share of the difference by which the target network follows the one that learns, with every step, in the long run."""
AVERAGE_LAST = 5.0
"""At first it follows faster: it is about the mean over the last one of so many parts of the steps so far."""
GRADIENT_NORM = 10.0
HUBER = 10.0
"""Errors beyond so many units count linearly: one huge task must not shake the network."""


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
        """Everything needed to go on learning; without `replay`, what is needed to go on acting: by the slow mean."""
        values = self.values.weights if replay else self.values.target
        contents: dict[str, Any] = {
            "time_weights": self.times.weights.state(),
            "value_weights": values.state(),
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


class ValueNetwork:
    """The learned part of the value of every option, and its target network: a copy that follows it slowly.

    The copy is what is acted on, too: it is steadier than the network that learns.

    Args:
        layout: Sizes.
        batch: Transitions per gradient step.
        generator: Of the weights.
    """

    def __init__(self, layout: Layout, batch: int, generator: Any) -> None:
        self.weights = Weights(layout.value_shapes, generator, silent=(5, 8))
        self.target = Weights(layout.value_shapes, None)
        self.refresh_target()
        self._batch = batch
        self._hidden = layout.hidden
        self._room = 0
        self._kept: list[Tensor] = []

    def _make_room(self, rows: int) -> None:
        """Buffers for so many options of a batch; made again only when there are more than ever before."""
        import torch

        if rows <= self._room:
            return
        self._room, n, h, half = rows, self._batch, self._hidden, second_layer(self._hidden)
        # The online net sees states and next states in one go: first the rows of these, then of those.
        self._x, self._state_of = torch.empty(2 * rows, OPTION), np.empty(2 * rows, dtype=np.int64)
        self._context = torch.empty(2 * n, CONTEXT)
        self._online = Activity(2 * n, 2 * rows, h, half)
        self._delayed = Activity(n, rows, h, half)
        self._back = Activity(n, rows, h, half)

    def refresh_target(self) -> None:
        """Let the target network catch up at once."""
        self.target.flat.copy_(self.weights.flat)

    def keep(self) -> None:
        """Let the present weights count in `average`."""
        self._kept.append(self.target.flat.clone())

    def average(self) -> None:
        """Replace the weights by the mean of those kept."""
        import torch

        if self._kept:
            self.weights.flat.copy_(torch.stack(self._kept).mean(0))
            self._kept.clear()
            self.refresh_target()

    def learn(self, batch: dict[str, Any], gamma: float, *, delayed: bool) -> float:
        """Put the gradient of a batch of transitions into `weights.gradient`; returns the loss (Huber's).

        Args:
            batch: Columns of the transitions.
            gamma: Discount.
            delayed: Whether the delayed copy judges the next state.
        """
        n = self._batch
        now, after = int(batch["legal"].sum()), int(batch["next_legal"].sum())
        self._make_room(max(batch["next_response"].shape[1] * n, now, after))
        x, context = self._x, self._context
        context.numpy()[:n], context.numpy()[n:] = batch["context"], batch["next_context"]
        _pack(batch["options"], batch["legal"], x.numpy(), self._state_of, 0, 0)
        _pack(batch["next_options"], batch["next_legal"], x.numpy(), self._state_of, now, n)
        online, judge = self._online, self._delayed
        online.forward(self.weights.pieces, context, x[: now + after], self._state_of)
        if delayed:
            judge.forward(self.target.pieces, context[n:], x[now : now + after], self._state_of[now:] - n)
            judged, judged_value = judge.out.numpy()[:after], judge.value.numpy()
        else:
            judged, judged_value = online.out.numpy()[now : now + after], online.value.numpy()[n:]
        loss: float = _value_slopes(
            online.out.numpy(),
            online.value.numpy(),
            judged,
            judged_value,
            batch["legal"],
            batch["chosen"],
            batch["gap"],
            batch["next_legal"],
            batch["next_response"],
            batch["next_other"],
            batch["weight"],
            gamma,
            self._back.out.numpy(),
            self._back.value.numpy(),
        )
        self._backward(now)
        return loss

    def _backward(self, rows: int) -> None:
        """From the slopes of the loss in the outputs to the gradient of every weight."""
        import torch

        n, back, seen = self._batch, self._back, self._online
        context, x = self._context[:n], self._x[:rows]
        g_context, g_option, gb1, g2, gb2, g3, g_value, gb_value, g_last, gb_last = self.weights.gradients
        _, _, _, w2, _, w3, _, _, w_last, _ = self.weights.pieces
        h1, h2, out = seen.first[:rows], seen.second[:rows], back.out[:rows]
        back1, back2 = back.first[:rows], back.second[:rows]
        torch.mm(out.t(), h2, out=g3)
        torch.mm(out, w3, out=back2)
        _rectified(back2.numpy(), h2.numpy())
        torch.mm(back2.t(), h1, out=g2)
        torch.sum(back2, 0, out=gb2)
        torch.mm(back2, w2, out=back1)
        _rectified_sums(back1.numpy(), h1.numpy(), self._state_of, back.shared.numpy())
        torch.mm(back1.t(), x, out=g_option)
        torch.mm(back.shared.t(), context, out=g_context)
        torch.sum(back.shared, 0, out=gb1)
        torch.mm(back.value.t(), seen.of_value[:n], out=g_last)
        torch.sum(back.value, 0, out=gb_last)
        torch.mm(back.value, w_last, out=back.of_value)
        _rectified(back.of_value.numpy(), seen.of_value[:n].numpy())
        torch.mm(back.of_value.t(), context, out=g_value)
        torch.sum(back.of_value, 0, out=gb_value)


class Activity:
    """What the units of the value network say (or their slopes) for a batch: made once, filled again and again.

    Attributes:
        shared: The first layer's part of the context, per state.
        first: The first layer, per option.
        second: The second layer, per option.
        out: The advantage of every option.
        of_value: The hidden layer of the state value.
        value: The state value.
    """

    def __init__(self, states: int, rows: int, hidden: int, half: int) -> None:
        import torch

        self.shared, self.first, self.second = (
            torch.zeros(states, hidden),
            torch.zeros(rows, hidden),
            torch.zeros(rows, half),
        )
        self.out, self.of_value, self.value = torch.zeros(rows, 1), torch.zeros(states, half), torch.zeros(states, 1)

    def forward(self, pieces: list[Any], context: Any, x: Any, state_of: NDArray[np.int64]) -> None:
        """State values and advantages of the options `x`, packed; `state_of` says whose each is."""
        import torch

        w_context, w_option, b1, w2, b2, w3, w_value, b_value, w_last, b_last = pieces
        rows = len(x)
        torch.addmm(b1, context, w_context.t(), out=self.shared)
        torch.mm(x, w_option.t(), out=self.first[:rows])
        _add_shared(self.first.numpy()[:rows], self.shared.numpy(), state_of)
        torch.addmm(b2, self.first[:rows], w2.t(), out=self.second[:rows]).clamp_min_(0.0)
        torch.mm(self.second[:rows], w3.t(), out=self.out[:rows])
        torch.addmm(b_value, context, w_value.t(), out=self.of_value).clamp_min_(0.0)
        torch.addmm(b_last, self.of_value, w_last.t(), out=self.value)


@nb.njit(cache=True)
def _pack(options: Rows, legal: Column, x: Rows, state_of: NDArray[np.int64], row: int, state: int) -> None:
    """Write the options that can be taken one below the other, from `row` on, and whose they are, from `state` on."""
    for i in range(len(legal)):
        for k in range(int(legal[i])):
            for j in range(OPTION):
                x[row, j] = options[i, k * OPTION + j]
            state_of[row] = state + i
            row += 1


@nb.njit(cache=True)
def _add_shared(first: Rows, shared: Rows, state_of: NDArray[np.int64]) -> None:
    """Add the context's part of the first layer to every option of its state, and rectify."""
    for r in range(first.shape[0]):
        own = shared[state_of[r]]
        for j in range(first.shape[1]):
            first[r, j] = max(first[r, j] + own[j], np.float32(0.0))


@nb.njit(cache=True)
def _value_slopes(
    out: Rows,
    value: Rows,
    judged: Rows,
    judged_value: Rows,
    legal: Column,
    chosen: Column,
    gap: Column,
    next_legal: Column,
    next_response: Rows,
    next_other: Rows,
    weight: Column,
    gamma: float,
    back: Rows,
    back_value: Rows,
) -> float:
    """Write the slope of the loss in every output into `back` and `back_value`; returns the loss.

    Wanted is what was paid and, discounted, what the judge says of the option the online net likes best in the next
    state.
    """
    n, row = len(legal), 0
    after = int(legal.sum())
    next_row = after
    loss = 0.0
    for i in range(n):
        options, next_options = int(legal[i]), int(next_legal[i])
        best, highest, centre_judged = 0, -np.inf, 0.0
        for k in range(next_options):
            # The state value and the centre are the same for all options, so the best does not depend on them.
            liked = weight[i] * (out[next_row + k, 0] - next_response[i, k]) - next_other[i, k]
            if liked > highest:
                best, highest = k, liked
            centre_judged += judged[next_row - after + k, 0] / next_options
        future = 0.0
        if next_options > 0:
            future = judged_value[i, 0] + judged[next_row - after + best, 0] - centre_judged - next_response[i, best]
        centre = 0.0
        for k in range(options):
            centre += out[row + k, 0] / options
        error = value[i, 0] + out[row + int(chosen[i]), 0] - centre + gap[i] - gamma * future
        slope = min(max(error, -HUBER), HUBER)
        loss += slope * (error - 0.5 * slope) / n
        slope /= n
        back_value[i, 0] = slope
        for k in range(options):
            back[row + k, 0] = -slope / options
        back[row + int(chosen[i]), 0] += slope
        row += options
        next_row += next_options
    return loss


@nb.njit(cache=True)
def _rectified(back: Rows, rectified: Rows) -> None:
    """No slope passes where a rectified unit is silent."""
    for i in range(back.shape[0]):
        for j in range(back.shape[1]):
            back[i, j] = back[i, j] if rectified[i, j] > 0.0 else np.float32(0.0)


@nb.njit(cache=True)
def _rectified_sums(back: Rows, rectified: Rows, state_of: NDArray[np.int64], sums: Rows) -> None:
    """The same, and the sum over the options of each state."""
    sums[:] = 0.0
    for i in range(back.shape[0]):
        own = sums[state_of[i]]
        for j in range(back.shape[1]):
            back[i, j] = back[i, j] if rectified[i, j] > 0.0 else np.float32(0.0)
            own[j] += back[i, j]
