"""The profiler: the same products on the CPU and on the accelerator, and what moving the data costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from hybrid_scheduler.hardware.backend import Backend, Buffer, ProfiledMachine
from hybrid_scheduler.hardware.contention import CpuShare, contention_warning
from hybrid_scheduler.hardware.machine import check_device_type, find_machine
from hybrid_scheduler.hardware.profile import HardwareProfile, SizeProfile, Transfer
from hybrid_scheduler.hardware.sizes import DEFAULT_SIZES, check_sizes
from hybrid_scheduler.hardware.timing import Timing, time_calls
from hybrid_scheduler.model.errors import InvalidInputError

TRANSFER_NUMBERS = 32_000_000
BYTES = 4
TRANSFERS = "transfers"
"""The name of the last step, beside those named for their size."""


class HardwareProfiler:
    """Measures this machine's CPU and accelerator on float32 matrix products and on memory transfers.

    Every figure is the median of calls timed by the host's clock until the result is there: launching the work and
    waiting for it count, as they do for whoever wants the result. Nothing of PyTorch's settings stays changed.

    Args:
        device_type: `auto` (CUDA, else MPS, else the CPU alone), `cpu`, `cuda` or `mps`.
        repeats: Timed calls per figure; fewer, but at least three, when they take longer than a second.
        seed: Of the matrices' contents.
        threads: For the CPU; None: as many as PyTorch uses.
        machine: What to measure instead of this machine.
        clock: Seconds since some moment.

    Raises:
        InvalidInputError: An argument breaks its rule, the accelerator is not there, or PyTorch is not installed.
    """

    def __init__(
        self,
        device_type: str = "auto",
        repeats: int = 20,
        seed: int = 0,
        *,
        threads: int | None = None,
        machine: ProfiledMachine | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_device_type(device_type)
        _check_whole("repeats", repeats, 1, 10_000)
        _check_whole("seed", seed, 0, 2**63 - 1)
        if threads is not None:
            _check_whole("threads", threads, 1, 1024)
        self.device_type = device_type
        self.repeats = repeats
        self.seed = seed
        self.threads = threads
        self.machine = find_machine(device_type) if machine is None else machine
        self._clock = clock
        self._profile: HardwareProfile | None = None

    def profile_range(
        self, sizes: Iterable[int] = DEFAULT_SIZES, progress: Callable[[str], None] | None = None
    ) -> HardwareProfile:
        """Measure all.

        Args:
            sizes: Rows and columns of the square matrices, each from 1 to 16384.
            progress: Told the name of each step as it begins: the sizes, then `transfers`.

        Raises:
            InvalidInputError: A size breaks its rule or does not fit into memory.
        """
        checked = check_sizes(sizes)
        report = progress or (lambda step: None)
        device = self.machine.accelerator
        began = self._clock()
        share = CpuShare(self._clock, self.machine.processor_seconds)
        with self.machine.held_steady(self.threads):
            facts, threads = self.machine.describe(), self.machine.threads()
            measured = []
            for size in checked:
                report(str(size))
                measured.append(self._size(size, share))
            report(TRANSFERS)
            transfers = tuple(self._transfers())
        self._profile = HardwareProfile(
            machine=facts,
            accelerator=None if device is None else device.describe(),
            note=self.machine.note,
            cpu_share=share.of(threads),
            warning=contention_warning(share.of(threads), threads),
            sizes=tuple(measured),
            transfers=transfers,
            settings={"device_type": self.device_type, "repeats": self.repeats, "seed": self.seed},
            wall_seconds=self._clock() - began,
        )
        return self._profile

    def save_profile(self, path: str | Path) -> Path:
        """Write the latest profile as JSON, making folders on the way; measures the default sizes if there is none.

        Raises:
            InvalidInputError: The file cannot be written.
        """
        return (self._profile or self.profile_range()).save(path)

    def _time(self, backend: Backend, *steps: Callable[[], None]) -> Timing:
        def action() -> None:
            for step in steps:
                step()
            backend.synchronize()

        return time_calls(action, self.repeats, self._clock)

    def _size(self, size: int, share: CpuShare) -> SizeProfile:
        cpu, device = self.machine.cpu, self.machine.accelerator
        left, right, out = (cpu.allocate(size, size) for _ in range(3))
        cpu.fill(left, self.seed)
        cpu.fill(right, self.seed + 1)
        with share.watched():
            on_cpu = self._time(cpu, partial(cpu.multiply, left, right, out))
        if device is None:
            return SizeProfile(size, on_cpu)
        there = [device.allocate(size, size) for _ in range(3)]
        upload = (partial(device.copy, left, there[0]), partial(device.copy, right, there[1]))
        multiply = partial(device.multiply, *there)
        download = partial(device.copy, there[2], out)
        # Uploads first: what is multiplied must have been put there.
        up = self._time(device, *upload)
        compute = self._time(device, multiply)
        down = self._time(device, download)
        return SizeProfile(size, on_cpu, compute, self._time(device, *upload, multiply, download), up, down)

    def _transfers(self) -> Iterator[Transfer]:
        cpu, device = self.machine.cpu, self.machine.accelerator
        yield self._transfer("host_to_host", "pageable", cpu, cpu.allocate, cpu.allocate)
        if device is None:
            return
        hosts = {"pageable": cpu.allocate}
        if device.pins_memory:
            hosts["pinned"] = device.allocate_pinned
        for memory, allocate in hosts.items():
            yield self._transfer("host_to_device", memory, device, allocate, device.allocate)
            yield self._transfer("device_to_host", memory, device, device.allocate, allocate)

    def _transfer(
        self,
        direction: str,
        memory: str,
        backend: Backend,
        source: Callable[[int, int], Buffer],
        target: Callable[[int, int], Buffer],
    ) -> Transfer:
        large, latency = (self._copies(backend, source(1, n), target(1, n)) for n in (TRANSFER_NUMBERS, 1))
        return Transfer(direction, memory, TRANSFER_NUMBERS * BYTES / 1e6, large, latency)

    def _copies(self, backend: Backend, source: Buffer, target: Buffer) -> Timing:
        # Memory nobody has written is one shared page of zeros, which reads faster than any real data.
        backend.fill(source, self.seed)
        return self._time(backend, partial(backend.copy, source, target))


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
