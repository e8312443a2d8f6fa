"""The agent's second head: how long a task takes on each device, learned from outcomes, its gradient written out."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.memory import EMBEDDING, TASK_FEATURES, TIME_HIDDEN, TIME_INPUTS, Layout
from hybrid_scheduler.learning.weights import Weights

Rows = NDArray[np.float32]
Column = NDArray[np.float32]


class TimeHead:
    """Two layers on the task's features, an embedding of the device and its kind; predicts the log of seconds.

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
        _inputs(x.numpy(), batch["features"], batch["device"], batch["kind"], embedding.numpy())
        torch.addmm(b1, x, w1.t(), out=h1).tanh_()
        torch.addmm(b2, h1, w2.t(), out=h2).tanh_()
        torch.addmm(b3, h2, w3.t(), out=out)
        loss: float = _slopes(out.numpy(), batch["log_seconds"], back.numpy())
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


@nb.njit(cache=True)
def _inputs(x: Rows, features: Rows, device: Column, kind: Column, embedding: Rows) -> None:
    for i in range(len(x)):
        x[i, :TASK_FEATURES] = features[i]
        x[i, TASK_FEATURES : TASK_FEATURES + EMBEDDING] = embedding[int(device[i])]
        x[i, TIME_INPUTS - 1] = kind[i]


@nb.njit(cache=True)
def _slopes(out: Rows, wanted: Column, back: Rows) -> float:
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
