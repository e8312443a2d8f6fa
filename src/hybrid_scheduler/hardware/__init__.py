"""This machine's real hardware. Needs NumPy and, once something is measured, PyTorch; nothing else.

>>> from hybrid_scheduler.hardware import HardwareProfiler
>>> HardwareProfiler("auto").profile_range([256, 512]).gpu_fraction  # doctest: +SKIP
0.93

The names are loaded when they are first used: every worker process imports this package, and should start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.lazy import lazy_names

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.backend import Backend, ProfiledMachine
    from hybrid_scheduler.hardware.machine import DEVICE_TYPES, find_machine
    from hybrid_scheduler.hardware.profile import HardwareProfile, SizeProfile, Transfer
    from hybrid_scheduler.hardware.profiler import HardwareProfiler
    from hybrid_scheduler.hardware.sizes import DEFAULT_SIZES, LARGEST_SIZE
    from hybrid_scheduler.hardware.timing import Timing

__all__ = [
    "DEFAULT_SIZES",
    "DEVICE_TYPES",
    "LARGEST_SIZE",
    "Backend",
    "HardwareProfile",
    "HardwareProfiler",
    "ProfiledMachine",
    "SizeProfile",
    "Timing",
    "Transfer",
    "find_machine",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DEFAULT_SIZES": "sizes",
        "DEVICE_TYPES": "machine",
        "LARGEST_SIZE": "sizes",
        "Backend": "backend",
        "HardwareProfile": "profile",
        "HardwareProfiler": "profiler",
        "ProfiledMachine": "backend",
        "SizeProfile": "profile",
        "Timing": "timing",
        "Transfer": "profile",
        "find_machine": "machine",
    },
)
