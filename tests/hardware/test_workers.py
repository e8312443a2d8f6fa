"""Workers that are processes of this machine."""

from __future__ import annotations

import os
import time
from multiprocessing import get_context

import psutil  # type: ignore[import-untyped]

from hybrid_scheduler.hardware.workers import LocalWorkers

LONG = 600.0


def test_who_ends_workers_at_once_ends_no_other_process() -> None:
    workers = LocalWorkers(2)
    other = get_context("spawn").Process(target=time.sleep, args=(LONG,), daemon=True)
    other.start()
    try:
        began = time.monotonic()
        _, pid = next(workers.run([(os.getpid, ()), (time.sleep, (LONG,))]))
        workers.close(at_once=True)
        workers.close(at_once=True)
        assert time.monotonic() - began < LONG, "it waited for what they do"
        assert not psutil.pid_exists(pid)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()
