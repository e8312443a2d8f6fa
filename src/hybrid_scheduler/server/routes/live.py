"""The WebSocket."""

from __future__ import annotations

from fastapi import APIRouter, WebSocket

from hybrid_scheduler.server.errors import ApiError, error_response
from hybrid_scheduler.server.security import check_origin, check_token
from hybrid_scheduler.server.services import Services, services_of

router = APIRouter()


@router.websocket("/ws")
async def live(socket: WebSocket) -> None:
    """Live messages as JSON texts; what the client sends is ignored. Refusals are HTTP answers to the handshake."""
    services = services_of(socket)
    try:
        await _check(socket, services)
    except ApiError as error:
        answer = error_response(error.status, str(error), code=error.code, headers=error.headers)
        await socket.send_denial_response(answer)
        return
    await socket.accept()
    await services.feed.serve(socket)


async def _check(socket: WebSocket, services: Services) -> None:
    await services.limits.check(socket, changes=False)
    check_origin(socket, services.settings)
    check_token(socket.headers, services.settings, socket.query_params.get("token"))
    if services.feed.full:
        raise ApiError(503, "too many clients; try again later", code="too_many_clients")
