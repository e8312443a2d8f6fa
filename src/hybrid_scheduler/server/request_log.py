"""Every call gets an id, is timed and logged."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.server.errors import error_response
from hybrid_scheduler.server.logs import request_id
from hybrid_scheduler.server.metrics import Metrics

_LOG = logging.getLogger("hybrid_scheduler.server.requests")

HEADER = "X-Request-ID"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
QUIET = ("/api/health", "/api/metrics", "/assets/")
"""Paths whose calls are logged at level DEBUG only."""


class RequestLog:
    """ASGI middleware. Keeps the caller's `X-Request-ID` when it is harmless, and answers with the id."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; take the time until the answer has been sent."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        number = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        reset = request_id.set(number)
        scope.setdefault("state", {})["request_id"] = number
        status, start, started = 500, time.perf_counter(), False

        async def send_with_id(message: Message) -> None:
            nonlocal status, started
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                status, started = message["status"], True
                MutableHeaders(scope=message)[HEADER] = number
            elif message["type"] == "websocket.accept":
                status = 101
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except asyncio.CancelledError:
            # Only the server cancels calls, those that are not done when it has waited long enough for its end.
            if scope["type"] == "http" and not started:
                await error_response(503, "the service has ended", code="ending")(scope, receive, send_with_id)
        finally:
            self._record(scope, status, time.perf_counter() - start)
            request_id.reset(reset)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope.get("method", "WEBSOCKET")
        if scope["type"] == "http":
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.observe_request(method, route, status, seconds)
        level = logging.DEBUG if scope["path"].startswith(QUIET) else logging.INFO
        client = (scope.get("client") or ("unknown",))[0]
        # The query string is left out: it may hold a token.
        facts = {"status": status, "milliseconds": round(1000 * seconds, 2), "client": client}
        _LOG.log(level, "%s %s", method, scope["path"], extra=facts)
