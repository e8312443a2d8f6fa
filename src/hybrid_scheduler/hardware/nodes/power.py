"""Energy as the machine tells it: NVIDIA's counter of a GPU (NVML), Intel's and AMD's of the processor (RAPL).

NVML is spoken to through the driver's own library, so that nothing need be installed. RAPL's counters tick a thousand
times a second: what a shorter job took is only right on average. NVML's tick some ten times a second, and reading one
takes milliseconds, so that it says nothing of short jobs, and is not read before a job has run for a tenth of a second.
"""

from __future__ import annotations

import ctypes
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

POWERCAP = Path("/sys/class/powercap")
NVML_LIBRARY = "libnvidia-ml.so.1"
LOOKS = 0.2
"""Whether a job is a long one is looked at after such shares of `Meter.shortest`."""
LEAST_BETWEEN = 0.5
"""Two readings must be apart by such a share of `Meter.shortest` to say anything."""
TEXT_BYTES = 96
"""Room for names and identifiers; NVML's longest."""


class Meter(ABC):
    """Counts the energy of one device. It is pickled on its way to a lane.

    Attributes:
        shortest: Seconds that a job must take for the counter to tell its energy; 0 where reading it costs nothing.
    """

    shortest: ClassVar[float] = 0.0

    @abstractmethod
    def read(self) -> tuple[float, ...]:
        """The counters now, in joules.

        Raises:
            OSError: They cannot be read.
        """

    def between(self, before: tuple[float, ...], after: tuple[float, ...]) -> float:
        """The joules between two readings; not a number where no counter has moved."""
        total = sum(b - a for a, b in zip(before, after, strict=True))
        return total if total > 0 else math.nan


@dataclass(frozen=True, slots=True)
class RaplMeter(Meter):
    """The processor packages of this machine, all together.

    Attributes:
        files: The counter of each package, in microjoules.
        ranges: Where each starts again from 0, in joules.
    """

    files: tuple[Path, ...]
    ranges: tuple[float, ...]

    @classmethod
    def find(cls, folder: Path = POWERCAP) -> RaplMeter | None:
        """The packages' counters; None where there is none or reading one is not allowed."""
        files, ranges = [], []
        for zone in sorted(folder.glob("intel-rapl:*")):
            # Zones within a package (`intel-rapl:0:1`) are in its count already, and psys counts the packages again.
            if zone.name.count(":") > 1:
                continue
            try:
                if not (zone / "name").read_text().startswith("package"):
                    continue
                files.append(zone / "energy_uj")
                ranges.append(float((zone / "max_energy_range_uj").read_text()) * 1e-6)
                float(files[-1].read_text())
            except (OSError, ValueError):
                return None
        return cls(tuple(files), tuple(ranges)) if files else None

    def read(self) -> tuple[float, ...]:
        """One counter a package."""
        return tuple(float(file.read_text()) * 1e-6 for file in self.files)

    def between(self, before: tuple[float, ...], after: tuple[float, ...]) -> float:
        """A counter that is less than before has started again once."""
        moved = tuple(b if b >= a else b + r for a, b, r in zip(before, after, self.ranges, strict=True))
        return Meter.between(self, before, moved)


@dataclass(frozen=True, slots=True)
class NvmlMeter(Meter):
    """One GPU.

    Attributes:
        uuid: As the driver knows it.
    """

    shortest: ClassVar[float] = 0.5
    uuid: str

    def read(self) -> tuple[float, ...]:
        """The energy since the driver was loaded."""
        library, handle = _opened(self.uuid)
        millijoules = ctypes.c_ulonglong()
        _ask(library, "nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(millijoules))
        return (millijoules.value * 1e-3,)


class JobMeter:
    """Tells the energy of a lane's jobs, which come one after the other.

    A counter that tells nothing of short jobs is left alone until a job has run for a while: reading it takes longer
    than many a job. It is read by a thread meanwhile, and again when the job has ended; the first moments count as the
    rest.

    Args:
        meter: Counts the energy; None where nothing does.
    """

    def __init__(self, meter: Meter | None) -> None:
        self._meter = meter
        self._began = math.inf
        self._first: _Reading | None = None
        if meter is not None and meter.shortest:
            threading.Thread(target=self._watch, args=(meter,), daemon=True).start()

    def begin(self) -> None:
        """A job is about to begin."""
        if self._meter is None:
            return
        began = monotonic()
        if not self._meter.shortest:
            self._first = _read(self._meter, began)
        self._began = began

    def end(self) -> float:
        """The joules of the job that began last; not a number where nobody knows."""
        meter, first, ended = self._meter, self._first, monotonic()
        began, self._began = self._began, math.inf
        if meter is None or first is None or first.job != began or ended - began < meter.shortest:
            return math.nan
        last = _read(meter, began)
        # A job that lets no other thread run is only read at its end.
        if last is None or last.at - first.at < LEAST_BETWEEN * meter.shortest:
            return math.nan
        joules = meter.between(first.counters, last.counters)
        return joules * (ended - began) / (last.at - first.at) if meter.shortest else joules

    def _watch(self, meter: Meter) -> None:
        """Read the counter once for every job that has run for a while."""
        pause = meter.shortest * LOOKS
        while True:
            sleep(pause)
            began = self._began
            if monotonic() - began >= pause and (self._first is None or self._first.job != began):
                self._first = _read(meter, began) or self._first


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the counters said at a time during a job, which is known by its begin."""

    job: float
    at: float
    counters: tuple[float, ...]


def _read(meter: Meter, job: float) -> _Reading | None:
    """The counters now; None where they cannot be read."""
    try:
        counters = meter.read()
    except OSError:
        return None
    return _Reading(job, monotonic(), counters)


@dataclass(frozen=True, slots=True)
class NvmlGpu:
    """A GPU as NVML sees it.

    Attributes:
        uuid: As the driver knows it.
        name: The product's name.
        memory_mb: Its memory in MB (10⁶ bytes).
        counts_energy: Whether it has a counter.
    """

    uuid: str
    name: str
    memory_mb: float
    counts_energy: bool


def nvml_gpus() -> list[NvmlGpu]:
    """The NVIDIA GPUs of this machine, in the order of their slots on the bus; none without a driver."""
    try:
        with _nvml() as library:
            count = ctypes.c_uint()
            _ask(library, "nvmlDeviceGetCount_v2", ctypes.byref(count))
            return [_gpu(library, number) for number in range(count.value)]
    except OSError:
        return []


def _gpu(library: Any, number: int) -> NvmlGpu:
    handle = ctypes.c_void_p()
    _ask(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(number), ctypes.byref(handle))
    uuid, name = (ctypes.create_string_buffer(TEXT_BYTES) for _ in range(2))
    _ask(library, "nvmlDeviceGetUUID", handle, uuid, ctypes.c_uint(TEXT_BYTES))
    _ask(library, "nvmlDeviceGetName", handle, name, ctypes.c_uint(TEXT_BYTES))
    memory = (ctypes.c_ulonglong * 3)()  # total, free, used
    _ask(library, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    try:
        _ask(library, "nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(ctypes.c_ulonglong()))
        counts_energy = True
    except OSError:  # before Volta there was none
        counts_energy = False
    return NvmlGpu(uuid.value.decode(), name.value.decode(), memory[0] / 1e6, counts_energy)


def _load() -> Any:
    """The driver's library.

    Raises:
        OSError: There is none.
    """
    return ctypes.CDLL(NVML_LIBRARY)


@contextmanager
def _nvml() -> Iterator[Any]:
    library = _load()
    _ask(library, "nvmlInit_v2")
    try:
        yield library
    finally:
        library.nvmlShutdown()


@lru_cache
def _opened(uuid: str) -> tuple[Any, Any]:
    """The library and the handle of a GPU, for as long as this process lives."""
    library = _load()
    _ask(library, "nvmlInit_v2")
    handle = ctypes.c_void_p()
    _ask(library, "nvmlDeviceGetHandleByUUID", ctypes.c_char_p(uuid.encode()), ctypes.byref(handle))
    return library, handle


def _ask(library: Any, function: str, *arguments: Any) -> None:
    """Call NVML.

    Raises:
        OSError: It answers with an error, or is too old to know the function.
    """
    try:
        code = getattr(library, function)(*arguments)
    except AttributeError as error:
        raise OSError(f"NVML has no {function}") from error
    if code != 0:
        raise OSError(f"{function} of NVML fails with error {code}")
