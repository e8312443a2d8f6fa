"""Answers that the server gives by itself, where no application is asked: in the one shape of errors."""

from __future__ import annotations

from fastapi import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from hybrid_scheduler.server.errors import error_response
from hybrid_scheduler.server.security import add_security_headers


def refusal(status: int, message: str, *, code: str = "") -> Response:
    """An error after which the connection ends."""
    answer = error_response(status, message, code=code, headers={"Connection": "close"})
    if status in (429, 503):
        answer.headers["Retry-After"] = "1"
    add_security_headers(answer.headers, "/api/")
    return answer


def as_bytes(answer: Response) -> bytes:
    """What goes over the wire."""
    headers = b"".join(b"%s: %s\r\n" % pair for pair in answer.raw_headers)
    return b"".join((STATUS_LINE[answer.status_code], headers, b"\r\n", bytes(answer.body)))
