"""Authentication and browser security: the token, the origin of web pages, and security headers."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.errors import ApiError

READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing here."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self' ws: wss:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-site",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def add_security_headers(headers: MutableHeaders, path: str) -> None:
    """Put the headers every answer has on one; what the API says is never kept by caches."""
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if path.startswith("/api/"):
        headers.setdefault("Cache-Control", "no-store")


class SecurityHeaders:
    """ASGI middleware: the security headers on every answer, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; add the headers when the answer starts."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                add_security_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        await self._app(scope, receive, send_with_headers)


def check_token(headers: Headers, settings: ServiceSettings, query_token: str | None = None) -> None:
    """Refuse a call without the token, when one is set.

    Raises:
        ApiError: 401.
    """
    if settings.api_token is None:
        return
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        given = query_token or ""
    # Compared as bytes in constant time, so that neither the answer's delay nor odd characters tell anything.
    if not hmac.compare_digest(given.strip().encode(), settings.api_token.get_secret_value().encode()):
        how = "the token is wrong" if given else "a token is needed"
        raise ApiError(
            401,
            f"{how}: send 'Authorization: Bearer TOKEN' with the token of this service (API_TOKEN)",
            headers={"WWW-Authenticate": 'Bearer realm="hybrid-scheduler"'},
        )


def check_origin(connection: HTTPConnection, settings: ServiceSettings) -> None:
    """Keep pages of other sites from acting through a visitor's browser.

    A call without `Origin` does not come from a page. That the service's own host is one of its names was seen to
    before (`AllowedHosts`): otherwise a foreign name that resolves to this machine would count as the same host.

    Raises:
        ApiError: 403.
    """
    origin = connection.headers.get("origin")
    if origin is None or origin.lower() in {allowed.lower().rstrip("/") for allowed in settings.allowed_origins}:
        return
    host, own_host = _network_location(origin), connection.headers.get("host", "").lower()
    if host and host == _without_default_port(own_host, origin):
        return
    raise ApiError(
        403,
        "this page belongs to another site; the operator can allow it with ALLOWED_ORIGINS",
        code="origin_not_allowed",
    )


def _network_location(origin: str) -> str:
    try:
        return _without_default_port(urlsplit(origin).netloc.lower(), origin)
    except ValueError:  # e.g. a broken IPv6 address
        return ""


def _without_default_port(host: str, origin: str) -> str:
    return host.removesuffix(":443" if origin.lower().startswith("https:") else ":80")
