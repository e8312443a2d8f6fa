"""The API's own description: FastAPI's, plus the live messages and, when one is set, the token."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from hybrid_scheduler.server.auth_and_limits import UNLIMITED
from hybrid_scheduler.server.errors import MEANINGS
from hybrid_scheduler.server.schemas import LogLine, Notification, SimulationUpdate
from hybrid_scheduler.server.security import READING

LIVE_MESSAGES = (SimulationUpdate, Notification, LogLine)
"""What the WebSocket sends; OpenAPI has no place for WebSockets, so their shapes stand among the others."""
DESCRIPTION = """The live race of scheduling strategies on a simulated node of CPUs and GPUs.

Times are in seconds, energy in joules, cost in dollars. Every error has the shape
`{"error": {"code", "message", "details"}}`. `/ws` is a WebSocket; its messages are `SimulationUpdate`, `Notification`
and `LogLine`, told apart by `type`."""


def content(description: str, *kinds: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that answers with one of these kinds of content, and not with a model alone."""
    schemas = {kind: {"schema": {} if "json" in kind else {"type": "string"}} for kind in kinds}
    return {200: {"content": schemas, "description": description}}


def describe(app: FastAPI, *, token_needed: bool) -> dict[str, Any]:
    """The OpenAPI document; made once, then kept by the application."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = document.setdefault("components", {})
        _, live = models_json_schema(
            [(model, "serialization") for model in LIVE_MESSAGES], ref_template="#/components/schemas/{model}"
        )
        components["schemas"] = {**live["$defs"], **components.get("schemas", {})}
        for name in ("HTTPValidationError", "ValidationError"):
            components["schemas"].pop(name, None)  # FastAPI's own shape, which is never sent
        _declare_common_errors(document)
        if token_needed:
            _declare_token(document, components)
        app.openapi_schema = document
    return app.openapi_schema


def _declare_common_errors(document: dict[str, Any]) -> None:
    """What may happen to a call before a route sees it: to any, and by its method, its body and what it may say."""
    reference = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            happens = {
                421: True,
                429: not path.startswith(UNLIMITED),
                **dict.fromkeys((401, 403, 413), method.upper() not in READING),
                415: "requestBody" in operation,
                422: "422" in answers,  # FastAPI says so of what takes anything, but in a shape of its own
            }
            for status in (status for status, can_happen in happens.items() if can_happen):
                answers[str(status)] = {"description": MEANINGS[status], "content": reference}


def _declare_token(document: dict[str, Any], components: dict[str, Any]) -> None:
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "API_TOKEN"}}
    for path in document["paths"].values():
        for method, operation in path.items():
            if method in ("post", "put", "patch", "delete"):
                operation["security"] = [{"token": []}]
