"""Work that goes wrong, in a small module of its own: other processes load it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, WorkResult


@dataclass(frozen=True)
class Fails(WholeWork):
    """Raises, hangs, or dies."""

    how: str

    def prepare(self, place: Place, begin: float, share: float) -> None:
        """Nothing; but so its limit counts from when it begins, not from when its module is loaded."""

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        if self.how == "raises":
            raise ArithmeticError("no result")
        while self.how == "hangs":
            time.sleep(60.0)
        os.kill(os.getpid(), signal.SIGKILL)
        return WorkResult()
