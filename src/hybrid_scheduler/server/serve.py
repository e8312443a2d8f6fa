"""Running the service: one process, one port, until it is told to stop."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.accepting import Acceptor
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.connections import Connections, Refusals, ServerConfig
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.file_limits import Room, raise_file_limit, room_for
from hybrid_scheduler.server.forwarded import Forwarded
from hybrid_scheduler.server.http_protocol import IDLE_SECONDS, BoundedHttp
from hybrid_scheduler.server.listening import check_exposure, listen, web_address
from hybrid_scheduler.server.logs import configure_logging
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts
from hybrid_scheduler.server.turns import Turns
from hybrid_scheduler.server.websocket_protocol import FeedProtocol
from hybrid_scheduler.store import open_store

_LOG = logging.getLogger(__name__)

MOST_INCOMING = 16 * 1024
"""Bytes of a message from a WebSocket client; a longer one ends the connection."""


def serve(
    settings: ServiceSettings, engine: EnginePort, *, host: str, port: int, announce: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM; returns when everything accepted is stored.

    Args:
        settings: Where and how it runs.
        engine: The live engine, not yet open.
        host: Address to listen on.
        port: Port to listen on; 0 takes any that is free.
        announce: Told the web address once it can be opened.

    Raises:
        InvalidInputError: The address cannot be had, or must not be used without a token.
        StoreError: The store's schema does not fit; the message says the command that helps.
    """
    room = room_for(settings, raise_file_limit())
    warnings = (check_exposure(host, settings), room.warning)
    with listen(host, port, room.backlog) as listening:
        # A host name to listen on is also one to be called by.
        named = settings.model_copy(update={"allowed_hosts": (*settings.allowed_hosts, host)})
        store_access = StoreAccess(functools.partial(open_store, settings.database))
        config = server_config(create_app(named, engine, store_access), settings, room)
        configure_logging(settings)
        for warning in filter(None, warnings):
            _LOG.warning(warning)
        server = AnnouncingServer(config, functools.partial(announce, web_address(host, listening)))
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_run(server, store_access, listening))
        if server.interrupted:
            raise KeyboardInterrupt


def server_config(
    app: FastAPI, settings: ServiceSettings, room: Room, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> ServerConfig:
    """How our server is set up, in production and in tests alike."""
    outermost, metrics = Forwarded(app), app.state.metrics
    config = ServerConfig(
        outermost,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `Forwarded` sees to them
        backlog=room.backlog,
        timeout_graceful_shutdown=timeouts.shutdown,  # type: ignore[arg-type]  # it takes fractions too
        timeout_keep_alive=round(IDLE_SECONDS),
        http=BoundedHttp,
        ws=FeedProtocol,
        ws_ping_interval=timeouts.ping,
        ws_ping_timeout=timeouts.pong,
        ws_max_size=MOST_INCOMING,
        # Compressing every frame for every client costs more than loopback or a local network gains.
        ws_per_message_deflate=False,
    )
    refusals = Refusals(metrics.count_refusal)
    config.connections = Connections(
        room.connections, room.backlog, settings.max_connections_per_address, outermost.is_proxy, refusals
    )
    config.turns, config.grace = Turns(), timeouts.grace
    metrics.watch_connections(config.connections.__len__)
    return config


class AnnouncingServer(uvicorn.Server):
    """Says when it can be reached, takes connections in, and looks after them once a second.

    Attributes:
        interrupted: Whether Ctrl-C has ended it. The signal is raised again at the end, but a loop that is just ending
            may miss it, and the exit code would say that all was done.
    """

    def __init__(self, config: ServerConfig, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._connections, self._turns, self._announce = config.connections, config.turns, announce
        self._acceptors: list[Acceptor] = []
        self.interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Told to end."""
        self.interrupted = self.interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce the address."""
        ours = [] if sys.platform == "win32" else sockets or []
        await super().startup([listening for listening in sockets or [] if listening not in ours])
        for listening in ours:
            acceptor = Acceptor(listening, self._protocol, self._turns, self.config.backlog, self._connections.refusals)
            acceptor.start()
            self._acceptors.append(acceptor)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, then end; what a client has not read by then is lost."""
        for acceptor in self._acceptors:
            acceptor.stop()
        await super().shutdown(sockets)
        for connection in self.server_state.connections:
            connection.transport.abort()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        self._connections.make_room()
        if counter % 10 == 0:
            self._connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _protocol(self) -> BoundedHttp:
        return BoundedHttp(self.config, self.server_state, self.lifespan.state)


async def _run(server: uvicorn.Server, store_access: StoreAccess, listening: socket.socket) -> None:
    # Opened here first: an error would otherwise be a traceback of the server's start.
    await store_access.open()
    # What is loaded by now stays. Looking through it for garbage would pause the service for a fifth of a second, each
    # time that many connections come at once.
    gc.collect()
    gc.freeze()
    await server.serve([listening])
