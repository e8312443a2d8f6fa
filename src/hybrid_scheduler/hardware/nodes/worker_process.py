"""A worker's process as its pool holds it: started, spoken to, killed with all it has started, and waited for."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hybrid_scheduler.hardware.nodes.channel import Channel
from hybrid_scheduler.hardware.nodes.pickling import PROTOCOL
from hybrid_scheduler.hardware.nodes.slot import Slot

START = (
    "import sys; sys.path[:] = sys.argv[2:]; del sys.argv[1:]; "
    "from hybrid_scheduler.hardware.nodes import worker; worker.main({})"
)
"""The worker imports from where its pool does. Its `__main__` stays empty, so that no name there is mistaken."""


class WorkerProcess:
    """One process, running when this is made.

    It is the leader of a session of its own: Ctrl-C in the terminal of the pool does not reach it, and what its jobs
    start ends with it.

    Args:
        slot: Its share of the machine.
        warm_up: A pickled work that it runs before it says it is ready; a pickled None for none.

    Raises:
        OSError: The system does not start it.
    """

    def __init__(self, slot: Slot, warm_up: bytes) -> None:
        ours, theirs = socket.socketpair()
        paths = [path or os.getcwd() for path in sys.path]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", START.format(theirs.fileno()), "lane", *paths],
                stdin=subprocess.PIPE,
                stdout=2,
                env=slot.environment(os.environ),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.pid = self._process.pid
        self.channel = Channel(ours, waits=False)
        self.ended_fd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else None
        """Readable when the process has ended; None where the system has no such thing."""
        setup = (slot.place, slot.meter)
        self.channel.send(pickle.dumps((slot.cores, pickle.dumps(setup, PROTOCOL), warm_up), PROTOCOL))

    def kill(self) -> None:
        """End it and what its jobs have started; does not wait. Nothing happens when it is gone."""
        if self._process.returncode is None:  # until it is waited for, its number is nobody else's
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> str:
        """Wait until it is gone and let go of everything; how it ended.

        Raises:
            subprocess.TimeoutExpired: It has not ended after so many seconds.
        """
        code = self._process.wait(seconds)
        self.channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.ended_fd is not None:
            os.close(self.ended_fd)
            self.ended_fd = None
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:  # real-time signals have no names
            return f"was ended by signal {-code}"


@contextmanager
def after_interrupts() -> Iterator[None]:
    """Ctrl-C is heard when the block is over: a process that is being started is never lost half-way."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    held: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if held:
            signal.raise_signal(signal.SIGINT)
