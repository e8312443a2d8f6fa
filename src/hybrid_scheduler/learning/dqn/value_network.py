"""The network that scores options, with its gradient written out (`dqn.network` says what it learns)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.adam import Weights
from hybrid_scheduler.learning.dqn.layout import CONTEXT, OPTION, Layout, second_layer

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.float32]
Column = NDArray[np.float32]

HUBER = 10.0
"""Errors beyond so many units count linearly: one huge task must not shake the network."""


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
