"""What the service has: schedulers, presets, models, health."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Answer


class SchedulerInfo(Answer):
    """A registered scheduler."""

    name: str
    summary: str
    colour: Annotated[str, Field(pattern="^#[0-9a-f]{6}$", examples=["#a855f7"])]
    parameters: dict[str, Any] = Field(description="Constructor arguments with their defaults.")
    is_learner: bool
    learns_from_labels: bool = Field(description="It can be trained on the labels in the store.")
    knows_truth: bool = Field(description="A reference, not a contestant.")
    lets_wait: bool = Field(description="Tasks wait until it starts them; else it decides each when it is ready.")
    in_race: bool
    available: bool
    reason: str = Field(description="Why it is not available; empty when it is.")


class MetricDescription(Answer):
    """A figure by which schedulers are compared: how it is called and read."""

    name: Annotated[str, Field(description="Its key in documents.", examples=["avg_response"])]
    title: Annotated[str, Field(examples=["mean response time"])]
    short: Annotated[str, Field(description="The head of a column.", examples=["response"])]
    unit: Annotated[str, Field(examples=["s"])]
    symbol: str = Field(description="The unit as it is written behind a number; empty for a plain number.")
    bigger_is_better: bool | None = Field(description="Null where neither holds.")
    description: str


class PresetInfo(Answer):
    """A named kind of workload."""

    name: Annotated[str, Field(examples=["mixed"])]
    summary: str


class LearnAnswer(Answer):
    """What came of training a learner on the labels in the store."""

    scheduler_name: str
    labels: int | None = Field(description="Labels it was trained on; 0: none are for it, null: it still goes on.")
    message: Annotated[str, Field(examples=["hybrid_ml was trained on the latest 20000 labels in the store"])]


class ModelVersion(Answer):
    """A saved model."""

    id: int
    scheduler_name: str
    created: datetime
    rows: int | None
    r2: float | None
    mae: float | None
    path: str


class ModelVersionPage(Answer):
    """Newest first."""

    items: list[ModelVersion]
    next_cursor: int | None


class Dependency(Answer):
    """One thing the service depends on."""

    status: Literal["up", "down"]
    kind: str = Field(examples=["sqlite"])
    message: str = ""


class Health(Answer):
    """`ok`, `degraded` (works on, with less) or `down`."""

    status: Literal["ok", "degraded", "down"]
    dependencies: dict[str, Dependency] = Field(description="store, cache and engine, each by name.")
