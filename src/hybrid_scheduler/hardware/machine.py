"""The machine this runs on: which devices are there, and which of them are compared."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_scheduler.hardware.backend import ProfiledMachine
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.backend import Backend

CGROUP = Path("/sys/fs/cgroup")
DEVICE_TYPES = ("auto", "cpu", "cuda", "mps")


def find_machine(device_type: str) -> ProfiledMachine:
    """This machine, with the accelerator asked for (`auto`: CUDA, else MPS, else none).

    Raises:
        InvalidInputError: There is no such device type, the accelerator asked for is not here, or PyTorch is not
            installed.
    """
    check_device_type(device_type)
    try:
        import torch
    except ImportError as error:
        raise InvalidInputError(
            "the hardware profiler measures with PyTorch, which is not installed; "
            "pip install 'hybrid-ml-scheduler[learning]'"
        ) from error
    from hybrid_scheduler.hardware.torch_backend import CudaBackend, MpsBackend

    kinds: dict[str, type[Backend]] = {}
    if torch.cuda.is_available():
        kinds["cuda"] = CudaBackend
    if torch.backends.mps.is_available():
        kinds["mps"] = MpsBackend
    if device_type == "cpu":
        return TorchMachine(None, "only the CPU was asked for, so no accelerator was measured")
    if device_type == "auto":
        for kind in kinds.values():
            return TorchMachine(kind(), None)
        return TorchMachine(
            None, f"no accelerator: PyTorch {torch.__version__} finds neither CUDA nor MPS on this machine"
        )
    if device_type not in kinds:
        raise InvalidInputError(
            f"device type {device_type!r} is not there: PyTorch {torch.__version__} finds "
            f"{', '.join(['cpu', *kinds])} on this machine; use 'auto' or one of these, or install a PyTorch build "
            f"and a driver for {device_type}"
        )
    return TorchMachine(kinds[device_type](), None)


def check_device_type(device_type: str) -> None:
    """Refuse a device type that does not exist anywhere."""
    if device_type not in DEVICE_TYPES:
        raise UnknownNameError("device type", str(device_type), DEVICE_TYPES)


class TorchMachine(ProfiledMachine):
    """This machine as PyTorch drives it."""

    def __init__(self, accelerator: Backend | None, note: str | None) -> None:
        from hybrid_scheduler.hardware.torch_backend import TorchBackend

        self.cpu = TorchBackend()
        self.accelerator = accelerator
        self.note = note

    @contextmanager
    def held_steady(self, threads: int | None) -> Iterator[None]:
        """Plain float32 and this many threads; what the accelerator keeps in reserve is given back after."""
        import torch

        from hybrid_scheduler.hardware.torch_backend import cpu_threads, plain_float32

        try:
            with plain_float32(), cpu_threads(threads):
                yield
        finally:
            if self.accelerator is not None and self.accelerator.kind == "cuda":
                torch.cuda.empty_cache()

    def threads(self) -> int:
        """PyTorch's threads for one operation."""
        import torch

        return torch.get_num_threads()

    def processor_seconds(self) -> float:
        """As the system counts it."""
        return time.process_time()

    def describe(self) -> Mapping[str, object]:
        """The CPU, its cores and the threads in use, and the software."""
        import torch

        return {
            "system": f"{platform.system()} {platform.machine()}",
            "cpu": self.cpu.name,
            "cores": usable_cores(),
            "threads": self.threads(),
            "accelerator": None if self.accelerator is None else self.accelerator.name,
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "python": platform.python_version(),
        }


def usable_cores() -> int:
    """The cores this process may use, which in a container can be fewer than the machine has.

    A container may be bound to some cores, or be given the time of so many and run on all (`docker run --cpus`).
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(bound, core_quota())))


def core_quota(folder: Path = CGROUP) -> float:
    """How many cores' time this container is given; infinity where nothing limits it."""
    for quota, period in (("cpu.max", None), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = (folder / quota).read_text().split()
            if period is not None:
                words += (folder / period).read_text().split()
            given, of = (float(word) for word in words)
        except (OSError, ValueError):  # there is no such limit, or it is "max"
            continue
        if given > 0 and of > 0:
            return given / of
    return math.inf


def cpu_model() -> str:
    """What the CPU calls itself, or at least its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # only Linux has it
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(filter(None, names), "") or platform.processor() or platform.machine() or "unknown"
