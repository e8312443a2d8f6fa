"""Running the service: one process, one port, until it is told to stop."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.listening import check_exposure, listen, web_address
from hybrid_scheduler.server.logs import configure_logging
from hybrid_scheduler.server.store_door import StoreDoor
from hybrid_scheduler.server.websocket_protocol import FeedProtocol
from hybrid_scheduler.store import open_store

_LOG = logging.getLogger(__name__)

PING_SECONDS = 20.0
"""Between two pings of a WebSocket client, and for its answer."""
MOST_INCOMING = 16 * 1024
"""Bytes of a message from a WebSocket client; a longer one ends the connection."""
GOODBYE_SECONDS = 10
"""For calls under way when the service is told to stop."""


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
    warning = check_exposure(host, settings)
    with listen(host, port) as listening:
        configure_logging(settings)
        if warning:
            _LOG.warning(warning)
        door = StoreDoor(functools.partial(open_store, settings.database))
        config = server_config(create_app(settings, engine, door))
        server = AnnouncingServer(config, functools.partial(announce, web_address(host, listening)))
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_run(server, door, listening))


def server_config(app: FastAPI) -> uvicorn.Config:
    """How our server is set up, in production and in tests alike."""
    proxies = os.environ.get("FORWARDED_ALLOW_IPS")
    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # A client that could name its own address would have as many rate limits as it likes.
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        ws=FeedProtocol,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=MOST_INCOMING,
        # Compressing every frame for every client costs more than loopback or a local network gains.
        ws_per_message_deflate=False,
    )


class AnnouncingServer(uvicorn.Server):
    """Says when it can be reached."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        self._announce()


async def _run(server: uvicorn.Server, door: StoreDoor, listening: socket.socket) -> None:
    # Opened here first: an error would otherwise be a traceback of the server's start.
    await door.open()
    await server.serve([listening])
