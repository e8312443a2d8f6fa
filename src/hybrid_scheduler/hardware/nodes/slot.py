"""A lane's share of this machine: its device, its cores, its threads, and the environment its process starts with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import Place
from hybrid_scheduler.hardware.nodes.power import Meter
from hybrid_scheduler.physics.device import Device

THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""What libraries read, once, when they are loaded; PyTorch goes by the first."""
KEEPS_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""glibc keeps up to a gigabyte of freed memory, and takes results of up to 32 MiB (more it does not allow) from there;
larger ones get huge pages, where the system has them. Memory that comes anew in pages of 4 kB can take longer than the
work: 20 ms for 64 MB. Elsewhere nobody reads this."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Slot:
    """One lane to be.

    Attributes:
        device: The device as schedulers see it.
        accelerator: What PyTorch calls it inside the lane; None on a CPU, or where PyTorch cannot use it.
        hardware: What it is, in words; lanes of the same word are expected to take the same time.
        cores: The cores its process is bound to; empty for no binding.
        threads: How many threads a library may compute with.
        variables: More of its process's environment, such as which GPUs can be seen.
        meter: What measures its energy; None where nothing does.
    """

    device: Device
    accelerator: str | None = None
    hardware: str = ""
    cores: tuple[int, ...] = ()
    threads: int = 1
    variables: tuple[tuple[str, str], ...] = ((VISIBLE, ""),)
    meter: Meter | None = None

    @property
    def place(self) -> Place:
        """As its work is told."""
        return Place(self.device.name, self.device.kind, self.accelerator)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What its process starts with."""
        return {**KEEPS_MEMORY, **inherited, **dict.fromkeys(THREADS, str(self.threads)), **dict(self.variables)}
