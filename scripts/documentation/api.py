"""The reference of the service's API, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from documentation.tables import code, table
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.store import open_store

INTRODUCTION = """# API

What `hms serve` answers. A running service describes itself at `/api/openapi.json`, in the same words.
"""
RULES = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "maxItems": "at most so many:",
    "maxLength": "letters at most:",
}
Document = dict[str, Any]


def openapi_document() -> Document:
    """The document of a service with default settings; nothing is started."""
    settings = ServiceSettings(_env_file=None)
    store_access = StoreAccess(partial(open_store, settings.database))
    # Describing itself, an application does not touch its engine.
    return create_app(settings, cast("EnginePort", None), store_access).openapi()


def api_page(document: Document) -> str:
    """The page."""
    return "\n".join(
        [INTRODUCTION, document["info"]["description"] + "\n", *_calls(document), _errors(document), *_shapes(document)]
    )


def _calls(document: Document) -> Iterator[str]:
    yield "## Calls\n"
    rows = [
        (code(f"{method.upper()} {path}"), operation["summary"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    yield table(("call", "does"), rows)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"### {method.upper()} {path}\n"
            yield operation.get("description", operation["summary"]) + "\n"
            yield from _inputs(operation)
            yield _answers(operation["responses"])


def _inputs(operation: Document) -> Iterator[str]:
    if parameters := operation.get("parameters"):
        rows = [
            (code(each["name"]), each["in"], _kind(each["schema"]), each.get("description", "")) for each in parameters
        ]
        yield table(("parameter", "in", "type", "meaning"), rows)
    if body := operation.get("requestBody"):
        yield f"Body: {_kind(body['content']['application/json']['schema'])}\n"


def _answers(responses: Document) -> str:
    """One line: what comes back when all is well, and which errors may."""
    good = [
        f"`{status}` with {_body(response)}" if response.get("content") else f"`{status}`"
        for status, response in responses.items()
        if status.startswith("2")
    ]
    errors = [code(status) for status in responses if not status.startswith("2")]
    return f"Answers {', '.join(good)}; errors: {', '.join(errors) or 'none'}.\n"


def _body(response: Document) -> str:
    return " or ".join(dict.fromkeys(_kind(content.get("schema", {})) for content in response["content"].values()))


def _errors(document: Document) -> str:
    """Every error once, with all it can mean."""
    meanings: dict[str, list[str]] = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if not status.startswith("2"):
                    meanings.setdefault(status, []).append(response["description"])
    rows = [(status, " / ".join(dict.fromkeys(texts))) for status, texts in sorted(meanings.items())]
    return "## Errors\n\n" + table(("status", "meaning"), rows)


def _shapes(document: Document) -> Iterator[str]:
    yield "## Shapes\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"### {name}\n"
        if text := schema.get("description"):
            yield text.split("\n\n")[0] + "\n"
        required = schema.get("required", ())
        rows = [
            (code(key), _kind(each), "yes" if key in required else "", each.get("description", ""))
            for key, each in schema.get("properties", {}).items()
        ]
        if rows:
            yield table(("field", "type", "always", "meaning"), rows)


def _kind(schema: Document) -> str:
    """A JSON schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[key]))
    if "enum" in schema:
        return " or ".join(code(each) for each in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}{_rules(schema)}"
    return f"{kind}{_rules(schema)}"


def _rules(schema: Document) -> str:
    found = [f"{words} {_number(schema[key])}" for key, words in RULES.items() if key in schema]
    return f" ({', '.join(found)})" if found else ""


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
