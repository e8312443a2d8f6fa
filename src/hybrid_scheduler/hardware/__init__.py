"""This machine's real hardware. Needs NumPy and, once something is measured, PyTorch; nothing else.

>>> from hybrid_scheduler.hardware import HardwareProfiler
>>> HardwareProfiler("auto").profile_range([256, 512]).gpu_fraction  # doctest: +SKIP
0.93
"""

from hybrid_scheduler.hardware.backend import Backend, Machine
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
    "Machine",
    "SizeProfile",
    "Timing",
    "Transfer",
    "find_machine",
]
