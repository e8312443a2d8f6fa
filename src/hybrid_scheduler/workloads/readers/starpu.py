"""Kernel times that StarPU measured (Augonnet et al., CCPE 23(2), 2011), as a table with one row per measurement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.physics.cost import MAX_SPEEDUP
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.assumptions import dropped, table_of_times
from hybrid_scheduler.workloads.readers.base import Reader, has_columns
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns
from hybrid_scheduler.workloads.recorded import Assumption, TableFile

TEXTS = ("machine", "codelet", "device_type", "footprint_hash")
FLAG = "not_measured_flag"
BYTES = Range(0, 1e15, "a number of bytes")
MICROSECONDS = Range(1e-3, 1e15, "a number of microseconds")
KINDS = ("cpu", "cuda")


class MeasuredKernel(NamedTuple):
    """A kernel of one size on one machine."""

    machine: str
    codelet: str
    bytes: float
    footprint: str


def kernel_seconds(path: Path, machine: str) -> dict[tuple[str, float], tuple[float, float]]:
    """What one machine measured: by codelet and bytes of data, the seconds on a CPU core and on a CUDA device.

    Raises:
        InvalidInputError: Something is wrong in the file, or it has no such machine.
    """
    times, _ = _measured(path)
    machines = {kernel.machine for kernel in times}
    if machine not in machines:
        raise UnknownNameError(f"machine of {path}", machine, machines)
    return {
        (kernel.codelet, kernel.bytes): seconds
        for kernel, of in times.items()
        if kernel.machine == machine and (seconds := _medians(of)) is not None
    }


def _measured(path: Path) -> tuple[dict[MeasuredKernel, dict[str, list[float]]], int]:
    """The seconds of each kernel by type of device, and how many rows were filled in without measuring."""
    texts = dict.fromkeys((*TEXTS, FLAG), parse_texts)
    numbers = {"size_bytes": number_parser(BYTES), "mean_us": number_parser(MICROSECONDS)}
    file = read_columns(path, {**texts, **numbers})
    columns = cast(dict[str, Any], file.columns)
    times: dict[MeasuredKernel, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows = zip(*(columns[name] for name in (*TEXTS, FLAG, "size_bytes", "mean_us")), strict=True)
    filled_in = 0
    for machine, codelet, device, footprint, flag, size, mean in rows:
        filled_in += bool(flag)
        if not flag:
            times[MeasuredKernel(machine, codelet, size, footprint)][device].append(mean / 1e6)
    return times, filled_in


def _medians(times: Mapping[str, list[float]]) -> tuple[float, float] | None:
    """The median over the devices of each kind; None where one kind was not measured."""
    if not {*KINDS} <= {*times}:
        return None
    cpu, cuda = (float(np.median(times[kind])) for kind in KINDS)
    return cpu, cuda


class StarpuReader(Reader):
    """A task is a kernel (codelet) of one size on one machine that was measured on a CPU core and on a CUDA device.

    Its times are medians over the devices of a kind. Rows that their authors filled in without measuring are left out.
    """

    title = "StarPU kernel times"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its columns."""
        return has_columns(head, (*TEXTS, "size_bytes", "mean_us"))

    def read(self, path: Path, seed: int) -> TableFile:
        """See `Reader.read`; nothing is drawn."""
        times, filled_in = _measured(path)
        both = {kernel: medians for kernel, of in times.items() if (medians := _medians(of)) is not None}
        if not both:
            raise InvalidInputError(
                f"{path}: no kernel was measured on both 'cpu' and 'cuda' (device_type), so there is nothing to race"
            )
        size = np.array([kernel.bytes for kernel in both])
        seconds = np.array(list(both.values()), dtype=np.float64)
        speedup = seconds[:, 0] / seconds[:, 1]
        return table_of_times(
            seconds,
            ("cpu_0", "gpu_0"),
            kind=[kernel.codelet for kernel in both],
            size=np.maximum(size, 1.0),
            memory_required=size / 1e6,
            compute_intensity=np.clip((speedup - 1.0) / (MAX_SPEEDUP - 1.0), 0.0, 1.0),
            assumed=[
                *dropped(filled_in, "rows that were filled in, not measured"),
                *dropped(len(times) - len(both), "kernels that were measured on one kind of device only"),
                Assumption("median_of_devices", "a time is the median over the devices of a kind on its machine"),
                Assumption("intensity_from_times", "compute_intensity is (CPU time / GPU time - 1) / 3, from 0 to 1"),
                Assumption("size_is_bytes", "size is the bytes of a kernel's data, at least 1"),
            ],
        )
