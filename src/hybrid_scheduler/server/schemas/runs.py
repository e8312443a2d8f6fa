"""Stored runs, their files, and experiments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hybrid_scheduler.server.schemas.base import Answer, Request, whole_number


class StoredRun(Answer):
    """A live run, a comparison or an experiment."""

    id: int
    kind: Literal["live", "compare", "experiment"]
    name: str
    seed: int
    status: str
    started: datetime
    ended: datetime | None
    schedulers: list[str]
    first_task_id: int
    configuration: dict[str, Any]
    summary: dict[str, Any] | None = Field(description="Figures per scheduler once they are known.")


class RunPage(Answer):
    """Newest first."""

    items: list[StoredRun]
    next_cursor: int | None


class RunFile(Answer):
    """A file that a run wrote."""

    name: Annotated[str, Field(examples=["report.pdf"])]
    bytes: int


def _known_experiment(schema: dict[str, Any]) -> None:
    """Asked for with the description only: experiments bring much that the web half does without."""
    from hybrid_scheduler.experiments.registry import experiment_classes

    schema["pattern"] = f"^({'|'.join(sorted(experiment_classes()))})$"


class ExperimentRequest(Request):
    """An experiment to run; what is left out is the experiment's own default."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["mixed"], json_schema_extra=_known_experiment)]
    seeds: Annotated[int | None, Field(ge=1, le=50, examples=[5]), BeforeValidator(whole_number)] = None
    tasks: Annotated[
        int | None,
        Field(ge=10, le=1_000_000, description="Tasks per seed.", examples=[1000]),
        BeforeValidator(whole_number),
    ] = None


class ExperimentInfo(Answer):
    """An experiment that can be run."""

    name: Annotated[str, Field(examples=["mixed"])]
    question: str
    default_seeds: int
    default_tasks: int


class ExperimentJob(Answer):
    """An experiment that was asked for."""

    id: str
    name: str
    state: Literal["running", "finished", "failed", "cancelled"]
    done: int = Field(description="Pieces of work that are finished.")
    total: int = Field(description="Of how many; 0 until it is known.")
    seconds_left: float | None = Field(description="An estimate; null while there is nothing to go by, and at the end.")
    run_id: int | None = Field(description="Number of its stored run; null when it is not stored (yet).")
    message: str = Field(description="What people should know, e.g. why it failed; often empty.")
    files: list[str] = Field(description="What it wrote, once it is finished; see `/api/runs/{run_id}/files`.")


class ExperimentOverview(Answer):
    """What can be run, and what was."""

    available: list[ExperimentInfo]
    jobs: list[ExperimentJob] = Field(description="Of this server process, newest first, at most 20.")
