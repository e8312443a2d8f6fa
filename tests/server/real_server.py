"""The service behind our real server on a real port, in a thread; for what only real connections show."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from running_service import Service

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.connections import Connections
from hybrid_scheduler.server.file_limits import raise_file_limit, room_for
from hybrid_scheduler.server.listening import listen
from hybrid_scheduler.server.serve import AnnouncingServer, server_config
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts


class RealServer:
    """Runs while entered."""

    def __init__(self, settings: ServiceSettings, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        self.service = Service(settings)
        self._listening = listen("127.0.0.1", 0)
        self.port: int = self._listening.getsockname()[1]
        self._ready = threading.Event()
        self._config = server_config(self.service.app, settings, room_for(settings, raise_file_limit()), timeouts)
        self._server = AnnouncingServer(self._config, self._ready.set)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def websocket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    @property
    def connections(self) -> Connections:
        return self._config.connections

    @property
    def open_connections(self) -> list[Any]:
        return list(self._server.server_state.connections)

    @property
    def tasks(self) -> set[Any]:
        return self._server.server_state.tasks

    def metrics(self) -> str:
        return self.service.app.state.metrics.text().decode()  # type: ignore[no-any-return]

    def let_pass(self, seconds: float) -> None:
        """Have the server believe that so much time has passed since now."""
        loop = self._loop
        assert loop is not None
        self.call(lambda: self.connections.sweep(loop.time() + seconds))

    def emit(self, message: dict[str, Any]) -> None:
        """Have the engine send one live message."""
        self.call(lambda: self.service.engine.emit(message))

    def call(self, work: Callable[[], object]) -> None:
        """Run something on the server's event loop, and wait for it."""
        assert self._loop is not None
        done = threading.Event()

        def run() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(10)

    def __enter__(self) -> RealServer:
        self._thread.start()
        assert self._ready.wait(20), "the server does not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop it; twice is fine."""
        self._server.should_exit = True
        self._thread.join(30)
        self._listening.close()
        assert not self._thread.is_alive(), "the server does not end"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._config.get_loop_factory()) as runner:
            self._loop = runner.get_loop()
            runner.run(self._server.serve([self._listening]))
