"""What all shapes have in common: bodies in and out, ids, errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

LARGEST_ID = 2**53 - 1
"""Ids are whole numbers a browser can hold exactly."""


def whole_number(value: object) -> object:
    """JSON has one kind of number: 5.0 is as whole as 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TaskId = Annotated[int, Field(ge=0, le=LARGEST_ID, examples=[123]), BeforeValidator(whole_number)]


SchedulerName = Annotated[str, Field(min_length=1, max_length=100, examples=["rl_agent"])]


class Request(BaseModel):
    """A body that callers send: nothing beyond the declared fields, no infinities, no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Answer(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(ser_json_inf_nan="null")


class ErrorBody(Answer):
    """What went wrong."""

    code: Annotated[str, Field(description="A word for programs.", examples=["invalid_input"])]
    message: Annotated[
        str, Field(description="A sentence for people.", examples=["size is -1, but it must be above 0"])
    ]
    details: Annotated[list[dict[str, Any]], Field(description="One entry per field that is wrong.")] = []


class ErrorAnswer(Answer):
    """Every error has this shape."""

    error: ErrorBody


class Online(Answer):
    """What `GET /` says to programs."""

    status: Literal["online"] = "online"
    message: str = "Hybrid ML Scheduler Dashboard API is running"
