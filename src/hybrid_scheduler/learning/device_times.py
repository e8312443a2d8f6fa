"""How long a task takes on each device, as far as the agent has learned it.

The log of seconds is what a network expects of an average device of the kind, plus a device's own deviation::

    log seconds(task, device) = y(task, kind) + c(device) . [1, task features, f1(task, kind), ..., f4(task, kind)]

`y` and `f` are learned by gradient steps, slowly, once for all nodes. The eight coefficients of a device are learned
from its own outcomes by recursive least squares (a Kalman filter, Kalman 1960), so that a device nobody knows is known
after a few tasks. Speed and bandwidth are not public, so nothing else can be known of it beforehand.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.adam import Weights
from hybrid_scheduler.learning.agent_layout import (
    BASIS,
    COEFFICIENTS,
    DEVICE_FIGURES,
    HEADER,
    MEAN,
    SECOND,
    TASK_FEATURES,
    TIME_HIDDEN,
    TIME_INPUTS,
    TIME_OUTPUTS,
    Layout,
)
from hybrid_scheduler.model.device_columns import CPU, GPU, KIND
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import SHARED, TASK_INTENSITY, TASK_MEMORY, TASK_SIZE

Rows = NDArray[np.float32]
Column = NDArray[np.float32]

CLIP = 4.0
"""Features further out than this many deviations are compressed: they stay in order, but cannot blow up a network."""
LONGEST = 30.0
"""Of the log of seconds over `SECOND`, either way."""
PRIOR = np.array([1.0] + [0.05] * TASK_FEATURES + [0.25] * BASIS)
"""Variances of the coefficients of a device nobody has heard of."""
ERROR = 0.01
"""Variance that the log of an outcome is taken to have around what its device's coefficients say."""
WANDER = 1e-4
"""Share of the prior variances that comes back with every outcome, so that old ones are forgotten slowly."""


@nb.njit(cache=True)
def raw_features(task: FloatArray) -> tuple[float, float, float]:
    """The task features before they are normalised."""
    return math.log(task[TASK_SIZE]), task[TASK_INTENSITY], math.log1p(task[TASK_MEMORY])


@nb.njit(cache=True)
def task_features(task: FloatArray, params: FloatArray, x: FloatArray) -> None:
    """Write the normalised task features into the first places of `x`."""
    raw = raw_features(task)
    for k in range(TASK_FEATURES):
        z = (raw[k] - params[MEAN + k]) / params[MEAN + TASK_FEATURES + k]
        if abs(z) > CLIP:
            z = math.copysign(CLIP + math.log1p(abs(z) - CLIP), z)
        x[k] = z


@nb.njit(cache=True, fastmath=True)
def dense(params: FloatArray, offset: int, rows: int, columns: int, x: FloatArray, y: FloatArray) -> int:
    """``y = W x + b`` with the weights that stand at `offset`; returns the offset behind them."""
    bias = offset + rows * columns
    for i in range(rows):
        total = params[bias + i]
        row = params[offset + i * columns : offset + (i + 1) * columns]
        for j in range(columns):
            total += row[j] * x[j]
        y[i] = total
    return bias + rows


@nb.njit(cache=True)
def basis(params: FloatArray, offset: int, kind: float, features: FloatArray, y: FloatArray) -> None:
    """What the network says of a task on devices of a kind: the log of seconds, then the functions."""
    x, a, b = np.empty(TIME_INPUTS), np.empty(TIME_HIDDEN), np.empty(TIME_HIDDEN)
    for k in range(TASK_FEATURES):
        x[k] = features[k]
    x[TASK_FEATURES] = kind
    offset = dense(params, offset, TIME_HIDDEN, TIME_INPUTS, x, a)
    for k in range(TIME_HIDDEN):
        a[k] = math.tanh(a[k])
    offset = dense(params, offset, TIME_HIDDEN, TIME_HIDDEN, a, b)
    for k in range(TIME_HIDDEN):
        b[k] = math.tanh(b[k])
    dense(params, offset, TIME_OUTPUTS, TIME_HIDDEN, b, y)


@nb.njit(cache=True)
def expected_log(coefficients: FloatArray, features: FloatArray, y: FloatArray) -> float:
    """Log of the whole-task seconds expected of a device, in units of `SECOND`; `y` is that of its kind (`basis`)."""
    log = y[0] + coefficients[0]
    for k in range(TASK_FEATURES):
        log += coefficients[1 + k] * features[k]
    for k in range(BASIS):
        log += coefficients[1 + TASK_FEATURES + k] * y[1 + k]
    return min(max(log, -LONGEST), LONGEST)  # type: ignore[no-any-return]


@nb.njit(cache=True)
def expected_seconds(
    params: FloatArray, devices: FloatArray, features: FloatArray, logs: FloatArray, times: FloatArray
) -> None:
    """Whole-task seconds the agent expects on every device, and their logs; all of them scale with the share."""
    count = devices.shape[0]
    offset = HEADER + count * DEVICE_FIGURES
    y = np.empty((2, TIME_OUTPUTS))
    basis(params, offset, CPU, features, y[0])
    basis(params, offset, GPU, features, y[1])
    for d in range(count):
        own = HEADER + d * DEVICE_FIGURES
        logs[d] = expected_log(params[own : own + COEFFICIENTS], features, y[int(devices[d, KIND])])
        times[SHARED, d] = params[SECOND] * math.exp(logs[d])


class DeviceFilter:
    """What is not sure yet about the coefficients of every device, and how an outcome changes them.

    Args:
        devices: How many there are.
    """

    def __init__(self, devices: int) -> None:
        self.covariance = np.empty((devices, COEFFICIENTS, COEFFICIENTS))
        self.forget()

    def forget(self) -> None:
        """Anything may have changed: the next outcomes count as much as the first ones did."""
        self.covariance[:] = np.diag(PRIOR)

    def learn(self, device: int, own: FloatArray, features: FloatArray, y: FloatArray, log: float) -> float:
        """Take in the log of the whole-task seconds of an outcome; returns the error of what was expected.

        Args:
            device: Where it ran.
            own: The coefficients of the device; changed in place.
            features: Of the task.
            y: What the network says of the task on devices of this kind.
            log: The log of seconds, in units of `SECOND`.
        """
        error: float = update(self.covariance[device], own, features, y, log)
        return error

    def state(self) -> list[Any]:
        """What is needed to go on."""
        values: list[Any] = self.covariance.tolist()
        return values

    def restore(self, state: list[Any]) -> None:
        """Go on from `state`."""
        self.covariance[:] = np.asarray(state, dtype=np.float64)


@nb.njit(cache=True)
def update(covariance: FloatArray, own: FloatArray, features: FloatArray, y: FloatArray, log: float) -> float:
    """One step of the filter of one device; returns the error of what was expected."""
    h, gain = np.empty(COEFFICIENTS), np.zeros(COEFFICIENTS)
    h[0] = 1.0
    h[1 : 1 + TASK_FEATURES] = features[:TASK_FEATURES]
    h[1 + TASK_FEATURES :] = y[1:]
    error = log - expected_log(own, features, y)
    spread = ERROR
    for i in range(COEFFICIENTS):
        if covariance[i, i] < PRIOR[i]:
            covariance[i, i] += WANDER * PRIOR[i]
    for i in range(COEFFICIENTS):
        for j in range(COEFFICIENTS):
            gain[i] += covariance[i, j] * h[j]
        spread += h[i] * gain[i]
    for i in range(COEFFICIENTS):
        own[i] += gain[i] / spread * error
        for j in range(COEFFICIENTS):
            covariance[i, j] -= gain[i] * gain[j] / spread
    return error


class TimeHead:
    """How long a task takes on an average device of a kind, and the functions by which devices differ.

    Args:
        layout: Sizes.
        batch: Outcomes per gradient step.
        generator: Of the weights.
    """

    def __init__(self, layout: Layout, batch: int, generator: Any) -> None:
        import torch

        self.weights = Weights(layout.time_shapes, generator)
        self.weights.pieces[4][0] = 0.0
        self._input = torch.empty(batch, TIME_INPUTS)
        self._first, self._second, self._back1, self._back2 = (torch.empty(batch, TIME_HIDDEN) for _ in range(4))
        self._out, self._back = torch.empty(batch, TIME_OUTPUTS), torch.empty(batch, TIME_OUTPUTS)

    def learn(self, batch: dict[str, Any]) -> float:
        """Put the gradient of a batch of outcomes into `weights.gradient`; returns the loss (Huber's)."""
        import torch

        x, h1, h2, out = self._input, self._first, self._second, self._out
        back1, back2, back = self._back1, self._back2, self._back
        w1, b1, w2, b2, w3, b3 = self.weights.pieces
        g1, gb1, g2, gb2, g3, gb3 = self.weights.gradients
        x.numpy()[:, :TASK_FEATURES], x.numpy()[:, TASK_FEATURES] = batch["features"], batch["kind"]
        torch.addmm(b1, x, w1.t(), out=h1).tanh_()
        torch.addmm(b2, h1, w2.t(), out=h2).tanh_()
        torch.addmm(b3, h2, w3.t(), out=out)
        loss: float = _time_slopes(
            out.numpy(), batch["features"], batch["coefficients"], batch["log_seconds"], back.numpy()
        )
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
        return loss


@nb.njit(cache=True)
def _time_slopes(out: Rows, features: Rows, coefficients: Rows, wanted: Column, back: Rows) -> float:
    """Write the slope of Huber's loss in every output into `back`; returns the loss."""
    loss, n, functions = 0.0, len(wanted), out.shape[1] - 1
    for i in range(n):
        own = coefficients[i]
        expected = out[i, 0] + own[0]
        for k in range(TASK_FEATURES):
            expected += own[1 + k] * features[i, k]
        for k in range(functions):
            expected += own[1 + TASK_FEATURES + k] * out[i, 1 + k]
        error = float(expected - wanted[i])
        slope = min(max(error, -1.0), 1.0)
        loss += slope * (error - 0.5 * slope) / n
        back[i, 0] = slope / n
        for k in range(functions):
            back[i, 1 + k] = slope / n * own[1 + TASK_FEATURES + k]
    return loss


@nb.njit(cache=True)
def _through_tanh(back: Rows, activity: Rows) -> None:
    for i in range(back.shape[0]):
        for j in range(back.shape[1]):
            back[i, j] *= np.float32(1.0) - activity[i, j] * activity[i, j]
