"""What is checked of every call before a route sees it: host, rate limit, origin, token, size of the body."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.errors import ApiError, error_response, has_body
from hybrid_scheduler.server.hosts import AllowedHosts
from hybrid_scheduler.server.limits import RateLimits
from hybrid_scheduler.server.security import READING, check_origin, check_token

UNLIMITED = ("/assets/", "/api/health")
"""Paths that do not count: files a browser keeps, and the probe whose refusal would look like an outage."""


class AuthAndLimits:
    """ASGI middleware. Whatever is not plainly reading counts as changing something, so new routes are safe too.

    Of a WebSocket only the host is checked here; its route does the rest.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, limits: RateLimits) -> None:
        self._app, self._settings, self._limits = app, settings, limits
        self._hosts = AllowedHosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer with 401, 403, 413, 421 or 429."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        connection, is_http = HTTPConnection(scope), scope["type"] == "http"
        try:
            self._hosts.check(connection.headers)
            if is_http:
                await self._check(connection, scope)
        except ApiError as error:
            answer = error_response(error.status, str(error), code=error.code, headers=error.headers)
            await answer(scope, receive, send)
            return
        counted = self._counted(receive, complete=not has_body(connection.headers)) if is_http else receive
        await self._app(scope, counted, send)

    async def _check(self, connection: HTTPConnection, scope: Scope) -> None:
        changes = scope["method"] not in READING
        if not scope["path"].startswith(UNLIMITED):
            await self._limits.check(connection, changes=changes)
        if changes:
            check_origin(connection, self._settings)
            check_token(connection.headers, self._settings)
        length = connection.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self._settings.max_body_bytes:
            raise ApiError(413, self._too_large())

    def _too_large(self) -> str:
        return f"the body is larger than {self._settings.max_body_bytes} bytes"

    def _counted(self, receive: Receive, *, complete: bool) -> Receive:
        """A body that does not say its length is counted while it comes in."""
        received = 0

        async def counted() -> Message:
            nonlocal received, complete
            message = await receive()
            received += len(message.get("body", b""))
            # FastAPI passes this one exception on from where it reads the body.
            if received > self._settings.max_body_bytes:
                raise HTTPException(413, self._too_large())
            if message["type"] == "http.disconnect" and not complete:
                raise HTTPException(408, "the body did not arrive")  # only the log shows this
            complete = complete or not message.get("more_body", False)
            return message

        return counted
