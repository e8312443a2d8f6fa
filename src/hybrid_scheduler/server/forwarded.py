"""What a trusted reverse proxy says about the client: its address and the host it asked for."""

from __future__ import annotations

import os

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

FORWARDED_HOST = b"x-forwarded-host"


class Forwarded:
    """ASGI wrapper, outside of everything else.

    From an address in `FORWARDED_ALLOW_IPS`, `X-Forwarded-For` and `X-Forwarded-Proto` count (Uvicorn's part), and
    `X-Forwarded-Host` takes the place of `Host`. From other addresses they are ignored: a client that could name its
    own address would have as many rate limits as it likes, and one that could name its host would pass for any site.
    """

    def __init__(self, app: ASGIApp) -> None:
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", "")
        self._app = ProxyHeadersMiddleware(app, trusted_hosts=trusted)  # type: ignore[arg-type]

    def is_proxy(self, address: str) -> bool:
        """Whether an address is trusted."""
        return address in self._app.trusted_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with what the proxy says."""
        if scope["type"] in ("http", "websocket") and self.is_proxy((scope.get("client") or ("",))[0]):
            named = [value for name, value in scope["headers"] if name == FORWARDED_HOST]
            if named:
                # A proxy adds its own at the end of what a client may have made up.
                host = named[-1].rpartition(b",")[2].strip()
                others = [(name, value) for name, value in scope["headers"] if name != b"host"]
                scope["headers"] = [*others, (b"host", host)]
        await self._app(scope, receive, send)  # type: ignore[arg-type]
