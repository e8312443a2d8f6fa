"""Measuring kernels on this machine's devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import stdev
from time import perf_counter
from typing import TYPE_CHECKING

from hybrid_scheduler.hardware.timing import ENOUGH_SECONDS, FEWEST_REPEATS, WARM_UP_CALLS
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind

if TYPE_CHECKING:
    import torch

    from hybrid_scheduler.hardware.kernels import Kernel

CPU, GPU = "cpu_0", "gpu_0"
LARGEST_SIZE = 20_000


def check_sizes(sizes: Sequence[int]) -> list[int]:
    """The sizes to measure, ascending.

    Raises:
        InvalidInputError: There are fewer than two, one is out of range, or one comes twice.
    """
    if len(set(sizes)) < 2 or len(set(sizes)) != len(sizes):
        raise InvalidInputError(f"sizes are {list(sizes)}, but at least two different ones are needed, each once")
    for size in sizes:
        if not 1 <= size <= LARGEST_SIZE:
            raise InvalidInputError(f"size {size} must be a whole number from 1 to {LARGEST_SIZE}")
    return sorted(sizes)


def measure(
    kinds: Sequence[str],
    sizes: Sequence[int],
    *,
    accelerator: str | None = None,
    repeats: int = 7,
    seed: int = 0,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Measurement]:
    """Measure kernels x sizes on the CPU and, where there is one, on the accelerator (`cuda` or `mps`).

    The result of the accelerator is compared with the CPU's once for each kernel.

    Raises:
        InvalidInputError: A kind is unknown, or the two forms of a kernel disagree.
    """
    import torch

    from hybrid_scheduler.hardware.kernels import KERNELS

    sizes = check_sizes(sizes)
    for name in kinds:
        kernel = KERNELS[kernel_kind(name).name]
        if accelerator is not None:
            check_forms(kernel, sizes[0], accelerator, seed)
        for size in sizes:
            data = kernel.make(size, torch.Generator().manual_seed(seed))
            times = _timed(lambda data=data, kernel=kernel: kernel.run(*data), repeats, clock)  # type: ignore[misc]
            yield Measurement(name, size, CPU, 0.0, _median(times), 0.0, _scatter(times))
            if accelerator is not None:
                yield _on_accelerator(kernel, size, data, accelerator, repeats, clock)


def check_forms(kernel: Kernel, size: int, accelerator: str, seed: int) -> None:
    """Refuse a kernel whose result on the accelerator is not the CPU's, to the precision of float32."""
    import torch

    data = kernel.make(size, torch.Generator().manual_seed(seed))
    here = kernel.run(*data)
    there = kernel.run(*(tensor.to(accelerator) for tensor in data)).cpu()
    if not torch.allclose(here, there, rtol=1e-3, atol=1e-3 * float(here.abs().max())):
        raise InvalidInputError(
            f"{kernel.kind} of size {size} gives another result on {accelerator} than on the CPU; "
            "its times would be of other work"
        )


def _on_accelerator(
    kernel: Kernel,
    size: int,
    data: tuple[torch.Tensor, ...],
    accelerator: str,
    repeats: int,
    clock: Callable[[], float],
) -> Measurement:
    import torch

    wait = torch.cuda.synchronize if accelerator == "cuda" else torch.mps.synchronize
    there = tuple(tensor.to(accelerator) for tensor in data)
    result = kernel.run(*there)

    def waited(action: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            action()
            wait()

        return run

    compute = _timed(waited(lambda: kernel.run(*there)), repeats, clock)
    upload = _timed(waited(lambda: [tensor.to(accelerator) for tensor in data]), repeats, clock)
    download = _timed(waited(lambda: result.cpu()), repeats, clock)
    transfer = _median(upload) + _median(download)
    return Measurement(kernel.kind, size, GPU, 0.0, _median(compute), transfer, _scatter(compute))


def _timed(action: Callable[[], object], repeats: int, clock: Callable[[], float]) -> list[float]:
    """Seconds of repeated calls after a warm-up; fewer, but at least three, when they take long."""
    for _ in range(WARM_UP_CALLS[0]):
        action()
    seconds: list[float] = []
    while len(seconds) < repeats and (len(seconds) < FEWEST_REPEATS or sum(seconds) < ENOUGH_SECONDS):
        began = clock()
        action()
        seconds.append(clock() - began)
    return seconds


def _median(seconds: Sequence[float]) -> float:
    ordered = sorted(seconds)
    return ordered[len(ordered) // 2]


def _scatter(seconds: Sequence[float]) -> float:
    return stdev(map(math.log, seconds)) if len(seconds) > 1 and min(seconds) > 0 else 0.0
