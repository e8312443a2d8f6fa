"""How much of this machine's memory nobody needs."""

from __future__ import annotations

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def spare_bytes(meminfo: Path = MEMINFO, container: Path = CONTAINER) -> float:
    """What is available beyond half of the memory (of a container: of its limit); 0 where the system does not say.

    Args:
        meminfo: Where the kernel says it.
        container: The folder of the control group, version 2.
    """
    try:
        told = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        total, available = (1024.0 * int(told[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return 0.0
    try:
        limit = float((container / "memory.max").read_text())
        total, available = min(total, limit), min(available, limit - float((container / "memory.current").read_text()))
    except (OSError, ValueError):
        pass  # no container, or one without a limit
    return max(available - total / 2.0, 0.0)
