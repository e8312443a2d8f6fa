"""The web half's end of the live engine: starts its process, starts it again when it dies, passes commands on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.link import BEGIN, COMMAND, FRAME, LOG, REPLY, STATUS, Message, packed, read_message
from hybrid_scheduler.model.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_scheduler.config.service import ServiceSettings
    from hybrid_scheduler.live.start import LiveStart

_LOG = logging.getLogger("hybrid_scheduler.engine")

COMMAND_SECONDS = 30.0
SHUTDOWN_SECONDS = 45.0
"""For the engine to finish, store and save at the end."""
STEADY_SECONDS = 30.0
"""An engine that ran at least so long is restarted without a longer pause."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
LAST_SECONDS = 10.0
"""Between the last message of an engine and the end of its process."""


class _EngineProcess(NamedTuple):
    """An engine's process, and our end of the link to it. It does nothing before the `BEGIN` message."""

    process: subprocess.Popen[bytes]
    link: socket.socket

    @classmethod
    def start(cls) -> _EngineProcess:
        ours, theirs = socket.socketpair()
        # The engine learns small nets: more threads only take the other cores from the web half.
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "hybrid_scheduler.live", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | one_thread,
            )
        return cls(process, ours)

    def end(self) -> None:
        """Wait for its end for a moment, then kill it."""
        self.link.close()
        try:
            self.process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def live_engine(settings: ServiceSettings, start: LiveStart) -> LiveEngine:
    """The engine for `create_app`; its process gets ready but does nothing before `open`.

    Raises:
        InvalidInputError: What the command line or the configuration asks for is wrong.
    """
    # Started first: it loads its libraries while this process loads its own.
    child = _EngineProcess.start()
    try:
        from hybrid_scheduler.live.plan import Plan

        Plan.of(start)  # a mistake must be an error here, not a process that dies
    except BaseException:
        child.process.kill()
        child.end()
        raise
    return LiveEngine(settings, start, child)


class LiveEngine:
    """Implements `EnginePort` with a process of its own.

    Attributes:
        restarts: How often the process ended by itself and was started again.
    """

    def __init__(self, settings: ServiceSettings, start: LiveStart, child: _EngineProcess) -> None:
        self._settings, self._start = settings, start
        self._listeners: list[Callable[[bytes], None]] = []
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._next: _EngineProcess | None = child
        self._process: subprocess.Popen[bytes] | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._status: dict[str, Any] = _initial_status(settings)
        self._up, self._message, self._how = False, "it is starting", ""
        self.restarts = 0
        self._ending = asyncio.Event()

    async def open(self) -> None:
        """Begin; the engine comes up in the background."""
        self._supervisor = asyncio.create_task(self._supervise())

    async def close(self) -> None:
        """End gracefully: everything accepted is stored, learners are saved."""
        self._ending.set()
        if self._supervisor is None:
            if self._next is not None:
                self._next.process.kill()
                await asyncio.to_thread(self._next.end)
            return
        self._request_end()
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await asyncio.shield(self._supervisor)
        except TimeoutError:
            _LOG.error("the engine did not end in %g s and is ended", SHUTDOWN_SECONDS)
            if self._process is not None:
                self._process.kill()
            await self._supervisor

    async def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Carry out one command.

        Raises:
            EngineError: The engine refused it or cannot be reached.
            InvalidInputError: The engine does not accept the arguments.
        """
        if self._writer is None or not self._up:
            raise EngineError(f"the engine cannot be reached: {self._message}; try again in a moment")
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(packed(COMMAND, {"number": number, "name": name, "arguments": arguments}))
            async with asyncio.timeout(COMMAND_SECONDS):
                reply = await answer
        except (TimeoutError, ConnectionError) as error:
            raise EngineError("the engine has not answered; look at /api/health and try again") from error
        finally:
            self._answers.pop(number, None)
        refusal = reply.get("refusal")
        if refusal is None:
            return dict(reply["answer"])
        if refusal["status"] == 422:
            raise InvalidInputError(refusal["message"])
        raise EngineError(refusal["message"], code=refusal["code"], status=refusal["status"])

    def status(self) -> dict[str, Any]:
        """The latest status the engine sent."""
        return self._status

    def health(self) -> Mapping[str, str]:
        """Whether the process answers."""
        return {"status": "up" if self._up else "down", "kind": "process", "message": "" if self._up else self._message}

    def listen(self, listener: Callable[[bytes], None]) -> None:
        """Hand every live message over as it comes."""
        self._listeners.append(listener)

    async def _supervise(self) -> None:
        """Start the engine, and start it again when it dies."""
        pause = FIRST_PAUSE
        while not self._ending.is_set():
            began = time.monotonic()
            try:
                await self._run_once()
            except OSError as error:
                _LOG.error("the engine's process cannot be started: %s", error)
            if self._ending.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY_SECONDS else min(2 * pause, LONGEST_PAUSE)
            _LOG.error("the engine has ended by itself%s; it is started again in %g s", self._how, pause)
            self.restarts += 1
            self._message = "it has died and is being started again"
            self._status = {**self._status, "state": "starting", "owner": False}
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._ending.wait()

    async def _run_once(self) -> None:
        """One process from its start to its end."""
        child, self._next = self._next, None
        if child is None:
            child = await asyncio.to_thread(_EngineProcess.start)
        self._process = child.process
        reader, self._writer = await asyncio.open_connection(sock=child.link, limit=1 << 24)
        try:
            self._writer.write(packed(BEGIN, pickle.dumps((self._settings.model_dump(), self._start))))
            if self._ending.is_set():
                self._request_end()
            while True:
                self._receive(await read_message(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._up = False
            self._writer.close()
            self._writer = None
            for waiting in self._answers.values():
                if not waiting.done():
                    waiting.set_exception(EngineError("the engine has ended; try again in a moment"))
            await asyncio.to_thread(child.end)
            self._how = f" with exit code {child.process.returncode}"
            self._process = None

    def _request_end(self) -> None:
        """Ask it to store everything and end, also before its first status: it may have begun a run by now."""
        if self._writer is None:
            return
        if self._up:
            self._writer.write(packed(COMMAND, {"number": 0, "name": "end", "arguments": {}}))
        else:
            self._writer.write_eof()

    def _receive(self, message: Message) -> None:
        if message.kind == FRAME:
            for listener in self._listeners:
                listener(message.body)
            return
        document = orjson.loads(message.body)
        if message.kind == STATUS:
            self._status, self._up, self._message = document, True, ""
        elif message.kind == REPLY:
            waiting = self._answers.get(document["number"])
            if waiting is not None and not waiting.done():
                waiting.set_result(document)
        elif message.kind == LOG:
            _LOG.log(logging.getLevelNamesMapping()[document["level"].upper()], "%s", document["message"])


def _initial_status(settings: ServiceSettings) -> dict[str, Any]:
    """The status before the engine has sent one."""
    return {
        "state": "starting",
        "is_running": False,
        "is_paused": False,
        "owner": False,
        "tasks_processed": 0,
        "simulated_time": 0.0,
        "turn": None,
        "rates": {"arrival_rate": 0.0, "tasks_per_second": 0.0},
        "settings": None,
        "run": None,
        "schedulers": [],
        "models": [],
        "totals": [],
        "store": {
            "kind": "postgresql" if settings.database.startswith("postgresql") else "sqlite",
            "waiting_tasks": 0,
            "lag_seconds": 0.0,
            "available": True,
            "stored_tasks": 0,
            "problem": "",
            "clearing": None,
        },
        "message": "The engine is starting.",
        "version": version("hybrid-ml-scheduler"),
    }
