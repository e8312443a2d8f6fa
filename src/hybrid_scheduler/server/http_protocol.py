"""Uvicorn's HTTP with limits: bounded headers, a time limit for every step, a bounded number of connections."""

from __future__ import annotations

import asyncio
import math
from enum import Enum
from functools import partial
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from hybrid_scheduler.server.connections import HARMLESS, Reason, ServerConfig
from hybrid_scheduler.server.raw_answers import as_bytes, refusal

MOST_HEADER_BYTES = 64 * 1024
"""Of the request line and all headers of one request."""
MOST_PIPELINED = 16
"""Requests that may wait behind the one that is being answered; browsers send none, and each takes room."""
MOST_DISCARDED = 1024 * 1024
"""Bytes a refused client may still send while it reads why."""
HEADER_SECONDS, BODY_SECONDS, IDLE_SECONDS = 10.0, 30.0, 60.0
"""For the headers of a request, for its body, and between two requests."""
UNREAD_SECONDS = 30.0
"""For a client to read something of its answer."""
GOODBYE_SECONDS = 5.0
"""For a client to read the last answer and to hang up."""
HEALTH = "/api/health"


class Phase(Enum):
    """What a connection is waiting for; the value is for how many seconds."""

    IDLE = IDLE_SECONDS + GOODBYE_SECONDS  # Uvicorn closes it; this is for clients that have not read their answer
    HEADERS = HEADER_SECONDS
    BODY = BODY_SECONDS
    ANSWER = math.inf
    END = GOODBYE_SECONDS


class BoundedHttp(HttpToolsProtocol):
    """One connection; what it may cost is bounded in bytes and in time.

    Attributes:
        address: Of the client; empty when it has none.
        deadline: When its patience ends, by the clock of the event loop; `Connections.sweep` looks at it.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, ServerConfig)
        self._connections, self._turns = config.connections, config.turns
        self.address, self.deadline = "", math.inf
        self._phase = Phase.HEADERS
        self._header_bytes = self._unparsed = self._discarded = 0
        self._silent = True

    # --- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._enter(Phase.HEADERS)
        if not self._connections.enter(self):
            self._refuse(429, "too many connections from this address", "too_many_connections", "address_limit")

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place up."""
        super().connection_lost(exc)
        self._connections.forget(self)

    def data_received(self, data: bytes) -> None:
        """Parse, unless it is too much."""
        if self._phase is Phase.END:
            self._discarded += len(data)
            if self._discarded > MOST_DISCARDED:
                self.transport.abort()
            return
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEADERS)
        self._silent = False
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MOST_HEADER_BYTES:  # one endless header, trailer or chunk extension
            self._refuse_headers()

    def handle_websocket_upgrade(self) -> None:
        """The place stays, its patience is the WebSocket's."""
        self.flow.pause_reading()
        self._turns.take(self._upgrade)

    def _upgrade(self) -> None:
        if not self.transport.is_closing():
            self._connections.upgrade(self)
            super().handle_websocket_upgrade()
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Begin a request in its turn; `/api/health` does not wait for the others."""
        begin = partial(super()._start_asgi_task, cycle, app)
        if cycle.scope["path"] == HEALTH:
            begin()
        else:
            self._turns.take(begin)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._enter(self._phase)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._enter(self._phase)

    def late(self) -> None:
        """Its patience is over: say so where it can be said, and hang up."""
        if self.flow.write_paused:
            self._connections.refusals.add("unread")
            self.transport.abort()
        elif self._phase is Phase.HEADERS and self._answering:
            self._enter(Phase.HEADERS)  # it has sent half of the next request already; first things first
        elif self._phase is Phase.HEADERS and self._silent:
            self._connections.refusals.add(HARMLESS)
            self.transport.abort()
        elif self._phase is Phase.HEADERS:
            self._refuse(408, f"the headers took longer than {HEADER_SECONDS:g} s", "", "header_timeout")
        elif self._phase is Phase.BODY:
            self._refuse(408, f"the body took longer than {BODY_SECONDS:g} s", "", "body_timeout")
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """The server ends; a request whose body has not come by now is not waited for."""
        if self._phase is Phase.BODY and self._answering:
            self._refuse(503, "the service is ending", "ending")
        if self._phase is Phase.END:
            self.transport.close()
        else:
            super().shutdown()

    # --- what the parser finds

    def on_message_begin(self) -> None:
        """A request begins, perhaps while another one is answered."""
        super().on_message_begin()
        self._header_bytes = 0
        if self._phase is Phase.ANSWER:
            self._enter(Phase.HEADERS)

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; trailers are counted and dropped, they would come too late to be checked."""
        self._count(len(name) + len(value) + 4)
        if self._phase is Phase.HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A request: it is answered if there is room."""
        self._unparsed = 0
        if self._phase is Phase.END:
            return
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refuse(503, "too many requests at once on one connection", "too_many_requests", "pipelining")
        elif not self._connections.ask(self) and self.url.partition(b"?")[0] != HEALTH.encode():
            self._refuse(503, "too many connections; try again in a moment", "too_many_connections", "no_room")
        else:
            self._enter(Phase.BODY)
            super().on_headers_complete()
            self._connections.wait(self)  # it is the client's turn again, until its body is here

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._unparsed = 0
        if self._phase is not Phase.END:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole request is here."""
        if self._phase is not Phase.END:
            self._connections.ask(self)
            super().on_message_complete()
            self._enter(Phase.ANSWER)
            if not self.parser.should_upgrade():
                self._rest()

    def on_response_complete(self) -> None:
        """It is answered; the body may still be on its way."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._enter(Phase.END)
        self._rest()

    # --- refusing

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP."""
        self._refuse(400, "this is no HTTP/1.1 request", "malformed_http", "malformed")

    def _should_upgrade(self) -> bool:
        return self._phase is not Phase.END and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """It is answered as if it had not asked for another protocol, which is all there is to say."""

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _enter(self, phase: Phase) -> None:
        patience = min(phase.value, UNREAD_SECONDS) if self.flow.write_paused else phase.value
        self._phase, self.deadline = phase, self.loop.time() + patience

    def _rest(self) -> None:
        """Nothing to do until the next request, if there is nothing to do."""
        if self._phase is Phase.ANSWER and not self._answering:
            self._enter(Phase.IDLE)
            self._connections.wait(self)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        self._unparsed = max(0, self._unparsed - size)
        if self._header_bytes > MOST_HEADER_BYTES:
            self._refuse_headers()

    def _refuse_headers(self) -> None:
        message = f"request line and headers are larger than {MOST_HEADER_BYTES} bytes"
        self._refuse(431, message, "", "headers_too_large")

    def _refuse(self, status: int, message: str, code: str, reason: Reason | None = None) -> None:
        """Answer without the application; then the client has a moment to read it and to hang up."""
        if self._phase is Phase.END or self.transport.is_closing():
            return
        if reason is not None:
            self._connections.refusals.add(reason)
        earlier = self._phase
        self._enter(Phase.END)
        self._connections.wait(self)  # the first to go when there is no room
        own = self.cycle if earlier is Phase.BODY else None
        if self.pipeline or (self._answering if own is None else own.response_started):
            self.transport.abort()  # in the middle of another answer there is no place for this one
            return
        if own is not None:
            own.disconnected = True
            own.message_event.set()
        self.transport.write(as_bytes(refusal(status, message, code=code)))
        # Closing at once would reset the connection under what is still coming, and the answer would be lost with it.
        self.transport.write_eof()
