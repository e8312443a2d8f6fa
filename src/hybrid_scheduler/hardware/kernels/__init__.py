"""Kernels that run on this machine, one file each. This package loads PyTorch; import it when something is to run."""

from __future__ import annotations

from hybrid_scheduler.hardware.kernels.axpy import Axpy
from hybrid_scheduler.hardware.kernels.base import Kernel
from hybrid_scheduler.hardware.kernels.cholesky import Cholesky
from hybrid_scheduler.hardware.kernels.conv2d import Conv2d
from hybrid_scheduler.hardware.kernels.fft import Fft
from hybrid_scheduler.hardware.kernels.loop import Loop
from hybrid_scheduler.hardware.kernels.matmul import Matmul
from hybrid_scheduler.hardware.kernels.sort import Sort
from hybrid_scheduler.hardware.kernels.spmm import Spmm

KERNELS: dict[str, Kernel] = {
    kernel.kind: kernel for kernel in (Matmul(), Conv2d(), Sort(), Fft(), Spmm(), Axpy(), Cholesky(), Loop())
}
"""Every kernel by the `kind` of its tasks."""

__all__ = ["KERNELS", "Kernel"]
