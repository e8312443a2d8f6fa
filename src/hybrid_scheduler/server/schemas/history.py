"""How it went over time and across runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Answer


class RaceMeans(Answer):
    """Means per task, of tasks that did not fail; null where there is none, or unknown. Seconds, joules, dollars."""

    scheduler_name: str
    tasks: int | None = Field(description="Tasks, also those that failed; null when not known.")
    failed: int | None
    avg_response: float | None
    avg_wait: float | None
    avg_time: float | None
    avg_energy: float | None
    avg_cost: float | None
    win_share: float | None = Field(description="Share of the tasks it finished at least as soon as everybody else.")


class MeansPoint(RaceMeans):
    """One scheduler in one stretch of time."""

    start: datetime


class HistoryMark(Answer):
    """What happened to one learner in one stretch of time."""

    start: datetime
    scheduler_name: str
    retrainings: int = Field(description="Refreshes that changed its model.")
    versions: int = Field(description="Times it was saved.")
    version: int | None = Field(description="The last version saved then.")


class MeansOverTime(Answer):
    """Live tasks by the time they were stored, over all runs."""

    since: datetime
    until: datetime
    stretch_seconds: int = Field(description="Length of a stretch; follows from the range.", examples=[3600])
    items: list[MeansPoint] = Field(description="In order of time; stretches without a task are left out.")
    marks: list[HistoryMark]


class RunMeans(RaceMeans):
    """One scheduler in one run."""

    gap: float | None = Field(description="Mean response over the lower bound of the same tasks, less 1.")


class Retraining(Answer):
    """One refresh that changed a learner's model."""

    id: int
    run_id: int
    scheduler_name: str
    created: datetime
    tasks: int = Field(description="Tasks the run had finished.")
    reason: str = Field(description="Why it was due.", examples=["drift"])
    rows: int = Field(description="Rows it looked at.")
    trees: int = Field(description="Parts of the model that were made anew.")
    replaced: int = Field(description="How many of those are in use now.")
    error_before: float | None = Field(description="Mean absolute error on rows outside the new parts' samples.")
    error_after: float | None
    version: int | None = Field(description="The last saved version at that moment.")


class RetrainingPage(Answer):
    """Newest first."""

    items: list[Retraining]
    next_cursor: int | None


class LearningPoint(Answer):
    """A learner's own figures at a moment."""

    run_id: int
    created: datetime
    tasks: int = Field(description="Tasks the run had finished.")
    figures: dict[str, float | None] = Field(description="E.g. loss, epsilon, reward, r2, mae.")


class LearningCurve(Answer):
    """One learner over time, oldest first, thinned evenly."""

    scheduler_name: str
    points: list[LearningPoint]


class CollectedData(Answer):
    """What all runs together have brought."""

    runs: int
    tasks: int = Field(description="Tasks in the store.")
    results: int
    labels: int
    model_versions: int
    retrainings: int
    tasks_ever: int = Field(description="Tasks these runs stored, also those that were pruned since.")
    first: datetime | None = Field(description="When the first of it began.")
    last: datetime | None = Field(description="The hour of the newest task, or the begin of a later run.")
