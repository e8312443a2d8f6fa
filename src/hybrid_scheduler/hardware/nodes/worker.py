"""The process of a lane: takes one job after the other from its pool, runs it, and says how it went.

It loads nothing but the standard library before it is bound to its cores, since threads that a library starts stay
where they were started. What jobs print goes to the error stream, as the pool's own output may be a document.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import socket
import sys
import threading
import traceback
from time import monotonic
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.hardware.nodes.channel import Channel
from hybrid_scheduler.hardware.nodes.pickling import PROTOCOL, dumps, portable
from hybrid_scheduler.hardware.nodes.power import JobMeter

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.nodes.lanes import Place

DONE, RAISED, TOO_LARGE = range(3)
READY, BEGINS = b"ready", b""
"""What a worker says besides how jobs went: that it can take one, and that a job is prepared and begins."""
OUT_OF_MEMORY = ("MPS backend out of memory", "DefaultCPUAllocator: can't allocate memory")
"""What PyTorch says where it has no class of errors for it."""


def main(descriptor: int) -> None:
    """Serve the pool at the other end of a socket until it closes it."""
    die_with_parent()
    channel = Channel(socket.socket(fileno=descriptor), waits=True)
    cores, setup, warm_up = pickle.loads(channel.receive()[0])
    if cores:
        os.sched_setaffinity(0, cores)
    place, counter = pickle.loads(setup)
    meter = JobMeter(counter)
    first = pickle.loads(warm_up)
    if first is not None:
        first.prepare(place, 0.0, 1.0)
        first.run(place, 0.0, 1.0)
    channel.send(READY)
    while messages := channel.receive():
        for message in messages:
            if not serve(channel, message, place, meter):
                return


def serve(channel: Channel, message: bytes | bytearray, place: Place, meter: JobMeter) -> bool:
    """Run one job and say how it went; whether this process can take another."""
    start, joules = monotonic(), math.nan
    try:
        work, begin, share, prepares = pickle.loads(message)
        if prepares:
            work.prepare(place, begin, share)
            channel.send(BEGINS)
        meter.begin()
        start = monotonic()
        result = work.run(place, begin, share)
        end = monotonic()
        joules = meter.end()
        channel.send(dumps((DONE, start, end, joules, result.value, result.transfer, result.memory_mb)))
    except BaseException as error:  # noqa: BLE001 (a job may raise anything, and whoever sent it is told)
        end = monotonic()
        too_large = _is_too_large(error)
        joules = meter.end() if math.isnan(joules) else joules
        answer = (TOO_LARGE if too_large else RAISED, start, end, joules, *portable(error))
        traceback.clear_frames(error.__traceback__)
        channel.send(pickle.dumps(answer, PROTOCOL))
        return _is_well(place)
    return True


def die_with_parent() -> None:
    """Have this process, and what its jobs start, killed when the pool's process is gone.

    Standard input is a pipe that nobody writes to. When its other end goes, the system itself sends the signal (on
    Linux), so this works in the middle of a job that never lets Python run. `PR_SET_PDEATHSIG` would go by the thread
    that started this process, which may end long before the pool does.
    """
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0.0)[0]:  # it was gone before that
            os.killpg(0, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _is_too_large(error: BaseException) -> bool:
    """Whether the device's memory was too small."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in OUT_OF_MEMORY)


def _is_well(place: Place) -> bool:
    """Whether the accelerator still works after a job failed; some errors of CUDA stay until the process ends."""
    torch: Any = sys.modules.get("torch")
    if torch is None or place.accelerator != "cuda" or not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True
