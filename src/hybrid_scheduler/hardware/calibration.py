"""Measuring kernels on this machine's devices, and reading the measurements of another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import stdev
from time import perf_counter
from typing import TYPE_CHECKING

from hybrid_scheduler.hardware.timing import ENOUGH_SECONDS, FEWEST_REPEATS, WARM_UP_CALLS
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import SIZES as LEGAL_SIZES
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.workloads.csv_columns import number_parser, seconds_parser
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_kind
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns

if TYPE_CHECKING:
    import torch

    from hybrid_scheduler.hardware.kernels import Kernel

CPU, GPU = "cpu_0", "gpu_0"
COLUMNS = (
    *("kind", "size", "cpu_s", "cpu_min_s", "cpu_max_s"),
    *("gpu_s", "gpu_min_s", "gpu_max_s", "upload_s", "download_s"),
)
"""What a file of another machine's measurements must have (medians and extremes, seconds)."""
EXTREMES = 2.7
"""The least and the greatest of seven normal figures lie so many deviations apart on average (Tippett 1925)."""
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


def read_measurements(path: Path) -> list[Measurement]:
    """Measurements of a machine with one CPU and one GPU, from a CSV file with the columns of `COLUMNS`.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    parsers = {name: seconds_parser() for name in COLUMNS} | {"kind": parse_texts, "size": number_parser(LEGAL_SIZES)}
    file = read_columns(path, parsers)
    columns = file.columns
    measured = []
    for row in range(len(file)):
        kind = str(columns["kind"][row])
        if kind not in KERNEL_KINDS:
            raise file.error(row, "kind", f"{kind!r} must be a kernel: {', '.join(KERNEL_KINDS)}")
        figures = {name: float(columns[name][row]) for name in COLUMNS[1:]}
        cpu = _spread(figures["cpu_min_s"], figures["cpu_max_s"])
        gpu = _spread(figures["gpu_min_s"], figures["gpu_max_s"])
        moved = figures["upload_s"] + figures["download_s"]
        measured.append(Measurement(kind, figures["size"], CPU, 0.0, figures["cpu_s"], 0.0, cpu))
        measured.append(Measurement(kind, figures["size"], GPU, 0.0, figures["gpu_s"], moved, gpu))
    return measured


def _spread(least: float, greatest: float) -> float:
    """The deviation of the logarithm that extremes like these speak of."""
    return math.log(greatest / least) / EXTREMES if 0 < least < greatest else 0.0
