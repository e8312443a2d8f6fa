"""The network of the order: what it looks at, its score, and where its weights come from.

One hidden layer, and a linear path past it; trained by evolution strategies (`training.order`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numba as nb
import numpy as np

from hybrid_scheduler.learning.packaged import FOLDER
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

HERE_OVER_BEST: Final = 0
"""Input: seconds here over seconds on the best device."""
HERE_OVER_EARLIEST: Final = 1
"""Input: seconds here over those until the earliest completion anywhere."""
BEST_OVER_USUAL: Final = 2
"""Input: best seconds over the usual of those that wait."""
WAITED_OVER_BEST: Final = 3
"""Input: time waited over best seconds."""
WAITED_OVER_LONGEST: Final = 4
"""Input: time waited over that of the longest waiting."""
CROWD: Final = 5
"""Input: tasks waiting per device."""
IDLE_SHARE: Final = 6
"""Input: share of devices that are idle."""
ADVANTAGE: Final = 7
"""Input: how much better the device suits this task than the others shown."""
IS_SPLIT: Final = 8
"""Input: whether the task is split."""
IS_SHORTEST: Final = 9
"""Input: whether it is the shortest."""
UNSUITED: Final = 10
"""Input: how little the device suits the tasks shown."""
JOULES_OVER_LEAST: Final = 11
"""Input: energy here over the least, weighted."""
DOLLARS_OVER_LEAST: Final = 12
"""Input: cost here over the least, weighted."""
ENERGY_WEIGHT: Final = 13
"""Input: weight of energy."""
MONEY_WEIGHT: Final = 14
"""Input: weight of money."""
N_INPUTS: Final = 15
N_HIDDEN: Final = 8
_HIDDEN_BIAS: Final = N_INPUTS * N_HIDDEN
_OUTPUT: Final = _HIDDEN_BIAS + N_HIDDEN
_LINEAR: Final = _OUTPUT + N_HIDDEN
_BIAS: Final = _LINEAR + N_INPUTS
N_WEIGHTS: Final = _BIAS + 1

ENERGY, MONEY, MAX_OVERTAKEN = range(N_WEIGHTS, N_WEIGHTS + 3)
"""Behind the weights in the kernel's state: what counts, and how often a task may be overtaken."""
GRAPH: Final = N_WEIGHTS + 3
"""Behind those: what counts for tasks of graphs (`graph_score`)."""
GRAPH_INPUTS: Final = UNSUITED + 1
"""Inputs that count for them in another way than for others: all but those about energy and money."""
N_GRAPH: Final = 2 * (GRAPH_INPUTS + 1)
STATE: Final = GRAPH + N_GRAPH
# fmt: off
GRAPH_WEIGHTS: Final = np.array((
    -0.548, 2.85, 0.618, -0.046, -0.425, -0.546, 0.896, -0.158,
    -0.221, 1.161, 0.011, -0.543, 0.01, 0.34, -0.28, 1.219,
    -0.491, 0.671, 0.184, 1.561, 0.218, -0.121, -0.67, -1.065,
))
# fmt: on
"""What counts for tasks of graphs: a constant and the rank, then every input and it times the rank; chosen by
`benchmarks/graph_weights.py`."""

WEIGHTS_FILE: Final = FOLDER / "order.npy"


@nb.njit(cache=True)
def score(x: FloatArray, weights: FloatArray) -> float:
    """How much is to be said for starting this pair now; above 0 it may start."""
    total = weights[_BIAS]
    for i in range(N_INPUTS):
        total += weights[_LINEAR + i] * x[i]
    for h in range(N_HIDDEN):
        a = weights[_HIDDEN_BIAS + h]
        for i in range(N_INPUTS):
            a += weights[h * N_INPUTS + i] * x[i]
        total += weights[_OUTPUT + h] * (a / (1.0 + abs(a)))
    return total  # type: ignore[no-any-return]


@nb.njit(cache=True)
def graph_score(x: FloatArray, rank: float, state: FloatArray) -> float:
    """What a pair's score gains by its task being part of a graph: linear in the inputs, and in them times the rank.

    Args:
        x: The inputs.
        rank: The upward rank of the task relative to its graph (`learning.upward_rank`), above 0 to 1.
        state: The kernel's state, which has these weights from `GRAPH` on.
    """
    total = state[GRAPH] + state[GRAPH + 1] * rank
    for i in range(GRAPH_INPUTS):
        total += (state[GRAPH + 2 + 2 * i] + state[GRAPH + 3 + 2 * i] * rank) * x[i]
    return total  # type: ignore[no-any-return]


def initial_weights(seed: int = 0) -> FloatArray:
    """Where training begins: prefer the fast device and the short task, wait for a device that finishes it earlier.

    Only the linear path speaks; the hidden layer is drawn at random and weighs nothing yet.
    """
    weights = np.zeros(N_WEIGHTS)
    weights[:_HIDDEN_BIAS] = np.random.default_rng(seed).normal(0.0, 0.3, _HIDDEN_BIAS)
    linear = {
        HERE_OVER_BEST: -0.5,
        HERE_OVER_EARLIEST: -3.0,
        BEST_OVER_USUAL: -1.0,
        ADVANTAGE: -0.5,
        JOULES_OVER_LEAST: -2.0,
        DOLLARS_OVER_LEAST: -2.0,
    }
    for number, value in linear.items():
        weights[_LINEAR + number] = value
    weights[_BIAS] = 1.0
    return weights


def load_weights(path: str | Path = WEIGHTS_FILE) -> FloatArray:
    """Weights from a file, by default those that travel with the package.

    Raises:
        InvalidInputError: The file is missing, or holds something else.
    """
    try:
        weights = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path}: the weights of the order cannot be read ({error}); train them again"
        ) from error
    return checked_weights(weights)


def checked_weights(weights: FloatArray) -> FloatArray:
    """The weights, if they can be.

    Raises:
        InvalidInputError: There are more or fewer than the network has, or they are not numbers.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (N_WEIGHTS,) or not np.isfinite(weights).all():
        raise InvalidInputError(
            f"the order has weights of shape {weights.shape}, but it must be {N_WEIGHTS} finite numbers; train it again"
        )
    return weights
