"""The dueling double deep Q-network, with its gradient written out.

Deep Q-learning: Mnih et al., Nature 518 (2015); double: van Hasselt, Guez, Silver, AAAI 2016; dueling: Wang et al.,
ICML 2016. A net this small spends most of an automatic gradient step on bookkeeping; written out, with every buffer
made once, a step takes little more than its matrix products (`benchmarks/race.py`). A test compares it with autograd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.memory import Layout
from hybrid_scheduler.learning.weights import Weights

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.float32]
Column = NDArray[np.float32]

HUBER = 10.0
"""Errors beyond so many mean costs count linearly: one huge task must not shake the network."""


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

    def learn(self, batch: dict[str, Any], weigh: tuple[float, float], gamma: float, *, delayed: bool) -> float:
        """Put the gradient of a batch of transitions into `weights.gradient`; returns the loss (Huber's).

        Args:
            batch: Columns of the transitions.
            weigh: What a second of response and what a joule cost.
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
        loss: float = _slopes(
            self._out.numpy(),
            judged.numpy(),
            batch["responses"],
            batch["energies"],
            batch["action"],
            batch["response"],
            batch["energy"],
            batch["next_responses"],
            batch["next_energies"],
            weigh[0],
            weigh[1],
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


def forward(pieces: list[Tensor], x: Tensor, h1: Tensor, h2: Tensor, out: Tensor) -> None:
    """Two rectified layers, then state value and advantages."""
    import torch

    w1, b1, w2, b2, w3, b3 = pieces
    torch.addmm(b1, x, w1.t(), out=h1).clamp_min_(0.0)
    torch.addmm(b2, h1, w2.t(), out=h2).clamp_min_(0.0)
    torch.addmm(b3, h2, w3.t(), out=out)


@nb.njit(cache=True)
def _slopes(
    out: Rows,
    judged: Rows,
    responses: Rows,
    energies: Rows,
    action: Column,
    response: Column,
    energy: Column,
    next_responses: Rows,
    next_energies: Rows,
    second: float,
    joule: float,
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
