"""What every HTTP call passes before a route sees it: rate limit, origin, token, size of the body."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.errors import ApiError, error_response
from hybrid_scheduler.server.limits import RateLimits
from hybrid_scheduler.server.security import READING, check_origin, check_token

UNLIMITED = ("/assets/", "/api/health")
"""Paths that do not count: files a browser keeps, and the probe whose refusal would look like an outage."""


class Gate:
    """ASGI middleware. Whatever is not plainly reading counts as changing something, so new routes are safe too."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, limits: RateLimits) -> None:
        self._app, self._settings, self._limits = app, settings, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer with 401, 403, 413 or 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        changes = scope["method"] not in READING
        try:
            if not scope["path"].startswith(UNLIMITED):
                await self._limits.check(connection, changes=changes)
            if changes:
                check_origin(connection, self._settings)
                check_token(connection.headers, self._settings)
            self._check_length(connection)
        except ApiError as error:
            answer = error_response(error.status, str(error), code=error.code, headers=error.headers)
            await answer(scope, receive, send)
            return
        await self._app(scope, self._counted(receive), send)

    def _check_length(self, connection: HTTPConnection) -> None:
        length = connection.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self._settings.max_body_bytes:
            raise ApiError(413, self._too_large())

    def _too_large(self) -> str:
        return f"the body is larger than {self._settings.max_body_bytes} bytes"

    def _counted(self, receive: Receive) -> Receive:
        """A body that does not say its length is counted while it comes in."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._settings.max_body_bytes:
                # FastAPI passes this one exception on from where it reads the body.
                raise HTTPException(413, self._too_large())
            return message

        return counted
