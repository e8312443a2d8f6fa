"""How much of this machine's memory nobody needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GROUPS, GROUP_FOLDER = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
FILES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""A group's limit and use, by the controllers of its line: none in version 2."""


def spare_bytes(meminfo: Path = MEMINFO, groups: Path = GROUPS, folder: Path = GROUP_FOLDER) -> float:
    """What is available beyond half of the memory (in a control group: of its limit); 0 where the system does not say.

    Args:
        meminfo: Where the kernel says what the machine has.
        groups: Where it says in which control groups this process is.
        folder: Where those groups' files are.
    """
    try:
        told = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        total, available = (1024.0 * int(told[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return 0.0
    spare = available - total / 2.0
    for limit, used in _limits(groups, folder):
        if limit < total:
            spare = min(spare, limit / 2.0 - used)
    return max(spare, 0.0)


def _limits(groups: Path, folder: Path) -> Iterator[tuple[float, float]]:
    """Limit and use of every control group with a limit that this process is in, of either version of them."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in FILES:
            continue
        root = folder / controllers
        limit, used = FILES[controllers]
        # Inside a container the path may be the host's, and only the root is there.
        for group in (root / path.strip("/"), *(root / above for above in Path(path.strip("/")).parents)):
            try:
                yield float((group / limit).read_text()), float((group / used).read_text())
            except (OSError, ValueError):  # it has none
                continue
