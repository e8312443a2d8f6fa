"""Lanes that are kept busy until a test lets them go."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hybrid_scheduler.executor.executor import Executor

LONG = 120.0
"""Seconds nothing here takes, however busy the machine."""


def wait_for(path: Path) -> str:
    until = time.monotonic() + LONG
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.005)
    return path.read_text()


def hold(begun: Path, go: Path) -> int:
    """Says that it runs, and does so until it may end."""
    begun.with_suffix(".new").write_text(str(os.getpid()))
    begun.with_suffix(".new").rename(begun)
    wait_for(go)
    return os.getpid()


class Held:
    """Keeps every lane busy until told otherwise."""

    def __init__(self, executor: Executor, folder: Path, lanes: int) -> None:
        self.go = folder / "go"
        self.futures = [executor.submit(hold, folder / f"begun-{i}", self.go, kind="hold") for i in range(lanes)]
        self.pids = [int(wait_for(folder / f"begun-{i}")) for i in range(lanes)]

    def release(self) -> None:
        self.go.write_text("go")
        assert [future.result(LONG) for future in self.futures] == self.pids
