"""Work for lanes, in a module of its own so that it is known by name in other processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, Work, WorkResult


@dataclass(frozen=True)
class Call(WholeWork):
    """Calls a function; done when that returns."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    prepared: Callable[[], Any] | None = None

    def prepare(self, place: Place, begin: float, share: float) -> None:
        if self.prepared is not None:
            self.prepared()

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        return WorkResult(self.function(*self.arguments))


@dataclass(frozen=True)
class Where(Work):
    """Says where and which share of it ran."""

    @property
    def divisible(self) -> bool:
        return True

    def runs_on(self, kind: str) -> bool:
        return True

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        return WorkResult((place, begin, share, os.getpid()), transfer=0.25, memory_mb=7.0)


class FussyError(Exception):
    """Pickles, but cannot be read again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def surroundings() -> dict[str, Any]:
    cores = os.sched_getaffinity(0) if sys.platform == "linux" else None
    return {"environment": dict(os.environ), "cores": cores, "modules": set(sys.modules)}


def fail(error: BaseException) -> None:
    raise error


def fail_fussily() -> None:
    raise FussyError("no", "way")


def exit_with(code: int) -> None:
    os._exit(code)


def forever(file: Path | None = None) -> None:
    """Says, where a file is named, that it has begun."""
    if file is not None:
        file.write_text(str(os.getpid()))
    while True:
        time.sleep(60)
