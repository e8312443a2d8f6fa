"""What a kernel moves and computes, from its kind and size alone; how it runs stands in `hardware.kernels`.

All kernels work in float32. Sizes are N: matmul and cholesky take N x N matrices; sort and fft 1000 N numbers; axpy
4000 N; spmm a sparse matrix of 10 N rows with 8 non-zeros each, times 32 columns; conv2d floor(N / 64) images (at least
one) of 16 x 64 x 64 through 32 filters of 3 x 3; loop a serial chain of 100 steps on max(8, floor(N / 10)) numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from hybrid_scheduler.model import FloatArray, UnknownNameError
from hybrid_scheduler.model.ranges import SECONDS

FLOAT_BYTES: Final = 4
INDEX_BYTES: Final = 8
SORTED, SCALED, SPARSE_ROWS = 1000, 4000, 10
NON_ZEROS, DENSE_COLUMNS = 8, 32
CHANNELS, FILTERS, IMAGE, FILTER = 16, 32, 64, 3
CHAIN: Final = 100

BALANCE = 10.0
"""Operations per byte at which a kernel's intensity is a half: where machines stop being bound by memory (Williams,
Waterman and Patterson, "Roofline", CACM 52(4), 2009)."""
NOMINAL_FLOPS, NOMINAL_BYTES = 20e9, 10e9
"""Operations and bytes a second of a CPU of speed 1, for the times of kernels on machines that nobody measured."""


def images(size: float) -> int:
    """How many images a conv2d of this size takes."""
    return max(1, int(size) // 64)


def chain_length(size: float) -> int:
    """How many numbers a loop of this size takes."""
    return max(8, int(size) // 10)


@dataclass(frozen=True, slots=True)
class KernelKind:
    """One kernel.

    Attributes:
        name: The `kind` of its tasks.
        flops: Operations, by size.
        input_bytes: What must be there before it runs, by size.
        output_bytes: What it leaves, by size.
        parallel: Whether its operations can run at the same time.
        divisible: Whether a share of it can run alone, so that two devices can do one task (`hardware.kernels`).
    """

    name: str
    flops: Callable[[float], float]
    input_bytes: Callable[[float], float]
    output_bytes: Callable[[float], float]
    parallel: bool = True
    divisible: bool = False

    def megabytes(self, size: float) -> float:
        """What moves to a device and back."""
        return (self.input_bytes(size) + self.output_bytes(size)) / 1e6

    def intensity(self, size: float) -> float:
        """From 0 to 1: operations per byte over themselves plus `BALANCE`; 0 for a serial kernel."""
        if not self.parallel:
            return 0.0
        per_byte = self.flops(size) / (self.input_bytes(size) + self.output_bytes(size))
        return per_byte / (per_byte + BALANCE)

    def nominal_seconds(self, size: float) -> float:
        """On a CPU of speed 1: the longer of computing and moving, as a roofline has it; no less than a task may."""
        moved = self.input_bytes(size) + self.output_bytes(size)
        return max(self.flops(size) / NOMINAL_FLOPS, moved / NOMINAL_BYTES, SECONDS.low)


def _log2(count: float) -> float:
    return math.log2(max(count, 2.0))


KERNEL_KINDS: Final = {
    kind.name: kind
    for kind in (
        KernelKind(
            "matmul",
            lambda n: 2 * n**3,
            lambda n: 2 * FLOAT_BYTES * n**2,
            lambda n: FLOAT_BYTES * n**2,
            divisible=True,
        ),
        KernelKind(
            "conv2d",
            lambda n: 2 * images(n) * FILTERS * CHANNELS * FILTER**2 * IMAGE**2,
            lambda n: FLOAT_BYTES * (images(n) * CHANNELS * IMAGE**2 + FILTERS * CHANNELS * FILTER**2),
            lambda n: FLOAT_BYTES * images(n) * FILTERS * IMAGE**2,
            divisible=True,
        ),
        KernelKind(
            "sort",
            lambda n: SORTED * n * _log2(SORTED * n),
            lambda n: FLOAT_BYTES * SORTED * n,
            lambda n: FLOAT_BYTES * SORTED * n,
            divisible=True,
        ),
        KernelKind(
            "fft",
            lambda n: 2.5 * SORTED * n * _log2(SORTED * n),
            lambda n: FLOAT_BYTES * SORTED * n,
            lambda n: FLOAT_BYTES * SORTED * n + 2 * FLOAT_BYTES,
        ),
        KernelKind(
            "spmm",
            lambda n: 2 * SPARSE_ROWS * n * NON_ZEROS * DENSE_COLUMNS,
            lambda n: (
                SPARSE_ROWS * n * (NON_ZEROS * (FLOAT_BYTES + INDEX_BYTES) + INDEX_BYTES + DENSE_COLUMNS * FLOAT_BYTES)
            ),
            lambda n: SPARSE_ROWS * n * DENSE_COLUMNS * FLOAT_BYTES,
            divisible=True,
        ),
        KernelKind(
            "axpy",
            lambda n: 2 * SCALED * n,
            lambda n: 2 * FLOAT_BYTES * SCALED * n,
            lambda n: FLOAT_BYTES * SCALED * n,
            divisible=True,
        ),
        KernelKind("cholesky", lambda n: n**3 / 3, lambda n: FLOAT_BYTES * n**2, lambda n: FLOAT_BYTES * n**2),
        KernelKind(
            "loop",
            lambda n: 2 * CHAIN * chain_length(n),
            lambda n: FLOAT_BYTES * chain_length(n),
            lambda n: FLOAT_BYTES * chain_length(n),
            parallel=False,
        ),
    )
}
"""Every kernel by the `kind` of its tasks."""


def kernel_kind(name: str) -> KernelKind:
    """The kernel of this name.

    Raises:
        UnknownNameError: There is none; the message offers the nearest.
    """
    if name not in KERNEL_KINDS:
        raise UnknownNameError("kernel kind", name, KERNEL_KINDS)
    return KERNEL_KINDS[name]


def kernel_columns(kinds: Sequence[str], sizes: FloatArray) -> dict[str, FloatArray]:
    """Intensity, memory and nominal seconds of kernel tasks, as columns of a workload."""
    rows = [(kernel_kind(name), float(size)) for name, size in zip(kinds, sizes, strict=True)]
    return {
        "compute_intensity": np.array([kind.intensity(size) for kind, size in rows]),
        "memory_required": np.array([kind.megabytes(size) for kind, size in rows]),
        "duration_estimate": np.array([kind.nominal_seconds(size) for kind, size in rows]),
    }
