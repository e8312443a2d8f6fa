"""The devices PyTorch drives. This module is loaded only when something is to be measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hybrid_scheduler.hardware.backend import Backend
from hybrid_scheduler.hardware.machine import cpu_model
from hybrid_scheduler.model.errors import InvalidInputError

SWITCHES = (("cuda", "matmul"), ("mkldnn", "matmul"), ("cudnn", "conv"), ("cudnn", "rnn"))
"""Where PyTorch keeps what precision stands for float32: products first, then what cuDNN does."""
MATMULS = 2


class TorchBackend(Backend):
    """What all of them share; by itself, the CPU, where every call ends before it returns."""

    kind = "cpu"

    def __init__(self) -> None:
        self.name = cpu_model()

    def allocate(self, rows: int, columns: int) -> torch.Tensor:
        """A tensor on the device."""
        return self._allocate(rows, columns, self.kind)

    def allocate_pinned(self, rows: int, columns: int) -> torch.Tensor:
        """A tensor in page-locked memory of the host."""
        return self._allocate(rows, columns, "cpu", pinned=True)

    def _allocate(self, rows: int, columns: int, device: str, *, pinned: bool = False) -> torch.Tensor:
        try:
            return torch.empty(rows, columns, dtype=torch.float32, device=device, pin_memory=pinned)
        except RuntimeError as error:  # PyTorch has no narrower one for the host, and this call does nothing else
            raise InvalidInputError(
                f"{rows} by {columns} numbers ({rows * columns * 4e-6:.0f} MB) do not fit on {self.kind} "
                f"({self.name}); use smaller sizes, or free its memory: {error}"
            ) from error

    def fill(self, buffer: torch.Tensor, seed: int) -> None:
        """Uniform in -1 to 1; zeros would make a device draw less power and run faster than work does."""
        buffer.uniform_(-1.0, 1.0, generator=torch.Generator(buffer.device).manual_seed(seed))

    def multiply(self, left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> None:
        """The product by the vendor's library, in float32 throughout (see `plain_float32`)."""
        torch.mm(left, right, out=out)

    def copy(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """A copy; from and to page-locked memory it does not wait."""
        target.copy_(source, non_blocking=True)

    def synchronize(self) -> None:
        """Nothing to wait for."""


class CudaBackend(TorchBackend):
    """The current CUDA (or ROCm) device."""

    kind = "cuda"
    pins_memory = True

    def __init__(self) -> None:
        self.name = torch.cuda.get_device_name()
        self.memory_mb = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory / 1e6

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize()


class MpsBackend(TorchBackend):
    """Apple's GPU. It shares the host's memory, so nothing is pinned and it has no memory of its own."""

    kind = "mps"

    def __init__(self) -> None:
        self.name = f"Apple GPU ({cpu_model()})"

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.mps.synchronize()


@contextmanager
def plain_float32() -> Iterator[None]:
    """Products and convolutions in float32 alone, no TF32 or bfloat16 instead; afterwards the caller's choice holds."""
    switches = _precision_switches()
    chosen = [switch.fp32_precision for switch in switches]
    cudnn: Any = torch.backends.cudnn
    try:
        overall_cudnn = cudnn.allow_tf32
    except RuntimeError:  # as below
        overall_cudnn = True
    try:
        overall = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was chosen per device, and PyTorch then refuses to name one for all
        overall = None
    # This call sets both the older switch and the newer ones; PyTorch refuses to run where they disagree.
    torch.set_float32_matmul_precision("highest")
    cudnn.allow_tf32 = False
    for switch in switches[MATMULS:]:
        switch.fp32_precision = "ieee"
    try:
        yield
    finally:
        if overall is not None:
            torch.set_float32_matmul_precision(overall)
        for switch, precision in zip(switches[:MATMULS], chosen[:MATMULS], strict=True):
            switch.fp32_precision = precision
        cudnn.allow_tf32 = overall_cudnn
        for switch, precision in zip(switches[MATMULS:], chosen[MATMULS:], strict=True):
            switch.fp32_precision = precision


def _precision_switches() -> list[Any]:
    """The switches of `SWITCHES`, or none: they came together, in PyTorch 2.9; before, the older ones are all."""
    backends: Any = torch.backends  # some of it is made at run time, where mypy does not see it
    found = [getattr(getattr(backends, backend), name, None) for backend, name in SWITCHES]
    return found if all(hasattr(switch, "fp32_precision") for switch in found) else []


@contextmanager
def cpu_threads(threads: int | None) -> Iterator[None]:
    """This many threads for the CPU's part; None: as many as PyTorch uses now."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        if threads is not None:
            torch.set_num_threads(before)
