"""Parameters that several routes take, each with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Path, Query

from hybrid_scheduler.server.schemas import LARGEST_ID
from hybrid_scheduler.server.schemas.race import KNOWN_SCHEDULER

Limit = Annotated[int, Query(ge=1, le=1000, description="Most items to send.", examples=[100])]
Before = Annotated[
    int | None,
    Query(ge=0, le=LARGEST_ID, description="`next_cursor` of the page before; without it the newest come first."),
]
SchedulerFilter = Annotated[
    str | None,
    Query(min_length=1, max_length=100, description="Only what this scheduler did.", examples=["rl_agent"]),
]
RacerQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=100,
        description="A scheduler in the race.",
        examples=["greedy"],
        json_schema_extra=dict(KNOWN_SCHEDULER),
    ),
]
WaitingTaskId = Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="Only this task, if it waits.")]
RunFilter = Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="Only tasks of this run.")]
RunKind = Annotated[Literal["live", "compare", "experiment"] | None, Query(description="Only runs of this kind.")]
TaskNumber = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The task's id.", examples=[123])]
RunNumber = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The run's id.", examples=[1])]
SchedulerPath = Annotated[
    str, Path(min_length=1, max_length=100, description="The scheduler's name.", examples=["hybrid_ml"])
]
JobId = Annotated[
    str,
    Path(min_length=1, max_length=32, pattern="^[0-9a-f]+$", description="The job's id.", examples=["3f2a9c0d1e4b"]),
]
FileName = Annotated[
    str, Path(min_length=1, max_length=200, description="Name of the file, without a folder.", examples=["report.pdf"])
]


@dataclass(frozen=True)
class HistoryPage:
    """Which part of the history is asked for."""

    limit: Limit = 100
    before: Before = None
    scheduler: SchedulerFilter = None
    run_id: RunFilter = None


PageOf = Annotated[HistoryPage, Depends()]
