"""Open files: every connection is one, and the system bounds them."""

from __future__ import annotations

import contextlib
import sys
from typing import NamedTuple

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.connections import HEALTH_PLACES

OWN_FILES = 128
"""What the process needs besides connections: store, engine, Redis, log, files being sent."""
LONGEST_BACKLOG = 2048


class Room(NamedTuple):
    """How many connections fit.

    Attributes:
        connections: How many are served.
        backlog: How many may wait to be accepted; as many may be accepted, and as many be open, until room is made.
        warning: What is less than was asked for, and what to do; empty when all is well.
    """

    connections: int
    backlog: int
    warning: str


def raise_file_limit() -> int | None:
    """Raise the limit of open files as far as the system lets us; gives it, None when there is none."""
    if sys.platform == "win32":
        return None
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # e.g. macOS says it is unlimited and does not mean it
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def room_for(settings: ServiceSettings, files: int | None) -> Room:
    """What fits into a limit of open files."""
    wanted = settings.max_connections
    if files is None:
        return Room(wanted, LONGEST_BACKLOG, "")
    backlog = max(1, min(LONGEST_BACKLOG, files // 8))
    fitting = max(1, files - OWN_FILES - HEALTH_PLACES - 2 * backlog)
    if fitting >= wanted:
        return Room(wanted, backlog, "")
    return Room(
        fitting,
        backlog,
        f"MAX_CONNECTIONS is {wanted}, but this process may open {files} files only, so it serves {fitting} "
        "connections; raise the limit (ulimit -n, LimitNOFILE of systemd) or lower MAX_CONNECTIONS",
    )
