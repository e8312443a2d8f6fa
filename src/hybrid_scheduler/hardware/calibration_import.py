"""Another machine's measurements as CSV files: kernels on a CPU and a GPU, and beside them splits and power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine, Together
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import SIZES, Range
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.workloads.csv_columns import number_parser, seconds_parser
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns

CPU, GPU = "cpu_0", "gpu_0"
COLUMNS = (
    *("kind", "size", "cpu_s", "cpu_min_s", "cpu_max_s"),
    *("gpu_s", "gpu_min_s", "gpu_max_s", "upload_s", "download_s"),
)
"""What a file of kernels must have (medians and extremes, seconds)."""
SPLITS, POWER = "split.csv", "power.csv"
"""Beside a file of kernels: fractions of kernels on the GPU, together with the rest on the CPU; watts of the GPU."""
SPLIT_COLUMNS = ("gpu_fraction", "both_s", "gpu_part_alone_s", "cpu_part_alone_s")
IDLE = "idle"
EXTREMES = 2.7
"""The least and the greatest of seven normal figures lie so many deviations apart on average (Tippett 1925)."""


@dataclass(frozen=True)
class ImportedMachine:
    """What the files say.

    Attributes:
        machine: The machine.
        files: The files that were read.
    """

    machine: CalibratedMachine
    files: tuple[Path, ...]


def read_machine(path: Path, kinds: Sequence[str] | None = None) -> ImportedMachine:
    """A machine of one CPU and one GPU from a file of kernels, and from `split.csv` and `power.csv` if they lie beside.

    Args:
        path: The file of kernels.
        kinds: Only these; None: all that it has.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    measured = [m for m in read_measurements(path) if kinds is None or m.kind in kinds]
    if not measured:
        raise InvalidInputError(f"{path} has no measurement of {', '.join(kinds or ('any kernel',))}; name others")
    splits, power = path.with_name(SPLITS), path.with_name(POWER)
    together = read_splits(splits) if splits.is_file() else None
    watts = {GPU: read_power(power)} if power.is_file() else {}
    machine = CalibratedMachine.of(measured, ClusterSpec.default(1), watts, {}, together)
    return ImportedMachine(machine, tuple(file for file in (path, splits, power) if file.is_file()))


def read_measurements(path: Path) -> list[Measurement]:
    """Measurements of a machine with one CPU and one GPU, from a CSV file with the columns of `COLUMNS`.

    The shortest run on a device is taken for what every part pays there: no part was seen to take less.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    parsers = {name: seconds_parser() for name in COLUMNS} | {"kind": parse_texts, "size": number_parser(SIZES)}
    file = read_columns(path, parsers)
    columns = file.columns
    launches = {name: min(map(float, columns[f"{name}_min_s"]), default=0.0) for name in ("cpu", "gpu")}
    measured = []
    for row in range(len(file)):
        kind = str(columns["kind"][row])
        if kind not in KERNEL_KINDS:
            raise file.error(row, "kind", f"{kind!r} must be a kernel: {', '.join(KERNEL_KINDS)}")
        figures = {name: float(columns[name][row]) for name in COLUMNS[1:]}
        moved = figures["upload_s"] + figures["download_s"]
        for device, name, transfer in ((CPU, "cpu", 0.0), (GPU, "gpu", moved)):
            seconds, launch = figures[f"{name}_s"], min(launches[name], figures[f"{name}_s"])
            scatter = _spread(figures[f"{name}_min_s"], figures[f"{name}_max_s"])
            measured.append(Measurement(kind, figures["size"], device, launch, seconds - launch, transfer, scatter))
    return measured


def read_splits(path: Path) -> Together:
    """How splits stretch their parts, from a CSV file with the columns of `SPLIT_COLUMNS`.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken, or nothing in the file is split.
    """
    parsers = {name: seconds_parser() for name in SPLIT_COLUMNS} | {"gpu_fraction": number_parser(Range(0.0, 1.0))}
    columns = read_columns(path, parsers).columns
    rows = zip(*(map(float, columns[name]) for name in SPLIT_COLUMNS), strict=True)
    stretches = tuple(both / max(gpu, cpu) - 1.0 for share, both, gpu, cpu in rows if 0.0 < share < 1.0)
    if not stretches:
        raise InvalidInputError(f"{path}: no row has a gpu_fraction between 0 and 1, so nothing is split; add one")
    return Together(stretches)


def read_power(path: Path) -> tuple[float, float]:
    """Watts of a GPU, busy (the median over loads) and idle, from a CSV file with the columns `load` and `watts`.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    file = read_columns(path, {"load": parse_texts, "watts": number_parser(Range(0.0, 1e6, "a number of watts"))})
    rows = list(zip(map(str, file.columns["load"]), map(float, file.columns["watts"]), strict=True))
    idle = [watts for load, watts in rows if load == IDLE]
    busy = [watts for load, watts in rows if load != IDLE]
    return median(busy) if busy else math.nan, median(idle) if idle else math.nan


def _spread(least: float, greatest: float) -> float:
    """The deviation of the logarithm that extremes like these speak of."""
    return math.log(greatest / least) / EXTREMES if 0 < least < greatest else 0.0
