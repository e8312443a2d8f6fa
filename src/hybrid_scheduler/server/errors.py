"""Every error of the API in one JSON shape: `{"error": {"code", "message", "details"}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.server.schemas import ErrorAnswer
from hybrid_scheduler.store.errors import StoreError

_LOG = logging.getLogger(__name__)

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "body_too_large",
    415: "unsupported_media_type",
    421: "host_not_allowed",
    422: "invalid_input",
    429: "too_many_requests",
    431: "headers_too_large",
    500: "internal_error",
    503: "unavailable",
}
"""The word for programs that each status has when nothing more exact is known."""

MEANINGS = {
    401: "The call changes something and carries no valid token.",
    403: "The call comes from a web page of another site.",
    404: "There is no such thing.",
    409: "The state of the service does not allow it, or another process owns the engine (`not_owner`).",
    413: "The body is larger than MAX_BODY_BYTES.",
    415: "The body is not said to be JSON (`Content-Type: application/json`).",
    421: "The service is called under a name that is none of its own; ALLOWED_HOSTS names more.",
    422: "The input breaks a rule; `details` says which.",
    429: "Too many calls; `Retry-After` says how many seconds to wait.",
    503: "The store or the engine does not answer just now; try again.",
}
"""What each status means, for the description of the API."""
MOST_DETAILS = 20
"""An answer lists no more wrong fields than this."""


class ApiError(HybridSchedulerError):
    """An error whose status and code are known where it is raised."""

    def __init__(self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code or CODES[status], headers


def error_response(
    status: int,
    message: str,
    *,
    code: str = "",
    details: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer in the one shape of errors."""
    body = {"error": {"code": code or CODES.get(status, "error"), "message": message, "details": list(details)}}
    # A lone surrogate can come in through JSON escapes and is no text that could be sent back.
    text = orjson.dumps(_sendable(body))
    return Response(text, status, headers, media_type="application/json")


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that can answer with these errors; `openapi` adds those that no route decides."""
    return {status: {"model": ErrorAnswer, "description": MEANINGS[status]} for status in sorted(statuses)}


CHANGING = declared(409, 503)
"""The `responses` of a route that has something begin or change."""
NAMING = declared(404, 409, 503)
"""The `responses` of a route that asks the engine about something by its name."""


def install_error_handlers(app: FastAPI) -> None:
    """Have every error answered in the one shape."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(EngineError, _engine_error)
    app.add_exception_handler(InvalidInputError, _invalid_input)
    app.add_exception_handler(StoreError, _store_failed)
    app.add_exception_handler(RequestValidationError, _invalid_request)


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error.status, str(error), code=error.code, headers=error.headers)


async def _engine_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, EngineError)
    return error_response(error.status, str(error), code=error.code)


async def _invalid_input(request: Request, error: Exception) -> Response:
    return error_response(422, str(error))


async def _store_failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoreError)
    # Where the store is, is nothing a caller needs to know: the whole message goes to the log.
    _LOG.warning("%s", error)
    message = f"{error.summary}; /api/health says when it is well again"
    return error_response(503, message, code="store_unavailable", headers={"Retry-After": "2"})


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if has_body(request.headers) and not _is_json(request.headers.get("content-type", "")):
        return error_response(415, "the body must be JSON, and say so: Content-Type: application/json")
    problems = error.errors()
    details = [_explained(problem) for problem in problems[:MOST_DETAILS]]
    more = f" ({len(problems) - 1} more in details)" if len(problems) > 1 else ""
    return error_response(422, f"{details[0]['field']}: {details[0]['message']}{more}", details=details)


def has_body(headers: Headers) -> bool:
    """Whether a call comes with a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _explained(error: Mapping[str, Any]) -> dict[str, str]:
    """One wrong field; the value itself is not repeated, it may be huge or secret."""
    where, *path = error["loc"]
    if error["type"] == "json_invalid":
        reason = error.get("ctx", {}).get("error", "it cannot be read")
        return {"field": "body", "message": f"not valid JSON: {reason}", "type": error["type"]}
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    return {
        "field": ".".join(map(str, path))[:200] or str(where),
        "message": f"{message[0].lower()}{message[1:]}"[:500],
        "type": error["type"],
    }


def unreadable_body() -> Response:
    """A body that is neither JSON nor anything else that could be read: bad encoding, endless nesting or digits."""
    details = [{"field": "body", "message": "it cannot be read as JSON", "type": "json_invalid"}]
    return error_response(422, "body: it cannot be read as JSON", details=details)


def http_error(error: HTTPException) -> Response:
    """What the framework itself refuses: unknown paths, wrong methods, unreadable bodies."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return unreadable_body()
    message = {
        404: "there is nothing at this address",
        405: "this address does not take this method; `Allow` names those it takes",
    }.get(error.status_code, error.detail)
    return error_response(error.status_code, message, headers=error.headers)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(inner) for key, inner in value.items()}
    return [_sendable(inner) for inner in value] if isinstance(value, list) else value
