"""Work that says in which process it ran, in a module of its own so that the actors of lanes find it."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep


def note(file: Path, seconds: float) -> None:
    """Note the process, and take so long."""
    with file.open("a", encoding="ascii") as stream:
        stream.write(f"{os.getpid()}\n")
    sleep(seconds)


def ran_in(file: Path) -> set[str]:
    """The processes that were noted."""
    return set(file.read_text("ascii").split()) if file.exists() else set()
