"""What server processes write to each other through Redis."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter

from hybrid_scheduler.server.schemas import Status

CHANNEL = "hms:live:1"
"""The number grows when letters change, so that processes of two versions do not misunderstand each other."""


def _live_message(text: str) -> str:
    if not isinstance(orjson.loads(text), dict):
        raise ValueError("a live message must be a JSON object")
    return text


def _status(document: dict[str, Any]) -> dict[str, Any]:
    feed = {"clients": 0, "frames": 0, "dropped": 0}
    Status.model_validate({**document, "feed": feed, "token_required": False})
    return document


class _Letter(BaseModel):
    """Every letter says which process wrote it."""

    sender: str


class Frame(_Letter):
    """A live message, as it was encoded."""

    kind: Literal["frame"] = "frame"
    text: Annotated[str, AfterValidator(_live_message)]


class OwnerStatus(_Letter):
    """What the owner of the engine says of it."""

    kind: Literal["status"] = "status"
    status: Annotated[dict[str, Any], AfterValidator(_status)]


class Command(_Letter):
    """Something for the owner to carry out."""

    kind: Literal["command"] = "command"
    number: str
    name: Literal["start", "stop", "pause", "resume", "settings", "submit", "clear"]
    arguments: dict[str, Any]


class Refusal(BaseModel):
    """An error of the engine; status 422 stands for input it does not accept."""

    message: str
    code: str
    status: int


class CommandAnswer(_Letter):
    """What came of a command: a result or a refusal."""

    kind: Literal["answer"] = "answer"
    number: str
    result: dict[str, Any] | None = None
    refusal: Refusal | None = None


Letter = Frame | OwnerStatus | Command | CommandAnswer
_LETTERS: TypeAdapter[Letter] = TypeAdapter(Annotated[Letter, Field(discriminator="kind")])


def read_letter(data: bytes) -> Letter:
    """The letter.

    Raises:
        ValueError: It is none of ours.
    """
    return _LETTERS.validate_json(data)
