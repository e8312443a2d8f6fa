"""The messages that server processes send each other through Redis."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter

from hybrid_scheduler.server.schemas import Status

CHANNEL = "hms:live:1"
"""The number grows when messages change, so that processes of two versions do not misunderstand each other."""


def _live_message(text: str) -> str:
    if not isinstance(orjson.loads(text), dict):
        raise ValueError("a live message must be a JSON object")
    return text


def _status(document: dict[str, Any]) -> dict[str, Any]:
    feed = {"clients": 0, "frames": 0, "dropped": 0}
    Status.model_validate({**document, "feed": feed, "token_required": False})
    return document


class _LinkMessage(BaseModel):
    """Every message names the process that sent it."""

    sender: str


class Frame(_LinkMessage):
    """A live message, as it was encoded."""

    kind: Literal["frame"] = "frame"
    text: Annotated[str, AfterValidator(_live_message)]


class OwnerStatus(_LinkMessage):
    """What the owner of the engine says of it."""

    kind: Literal["status"] = "status"
    status: Annotated[dict[str, Any], AfterValidator(_status)]


class Command(_LinkMessage):
    """Something for the owner to carry out."""

    kind: Literal["command"] = "command"
    number: str
    name: Literal["start", "stop", "pause", "resume", "settings", "submit", "clear", "pulse", "waiting", "learn"]
    arguments: dict[str, Any]


class Refusal(BaseModel):
    """An error of the engine; status 422 stands for input it does not accept."""

    message: str
    code: str
    status: int


class CommandAnswer(_LinkMessage):
    """What came of a command: a result or a refusal."""

    kind: Literal["answer"] = "answer"
    number: str
    result: dict[str, Any] | None = None
    refusal: Refusal | None = None


LinkMessage = Frame | OwnerStatus | Command | CommandAnswer
_MESSAGES: TypeAdapter[LinkMessage] = TypeAdapter(Annotated[LinkMessage, Field(discriminator="kind")])


def read_link_message(data: bytes) -> LinkMessage:
    """The message.

    Raises:
        ValueError: It is not one of these messages.
    """
    return _MESSAGES.validate_json(data)
