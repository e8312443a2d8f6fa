"""What is registered."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from functools import cache
from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.schedulers.base import LabelLearner, Learner, Scheduler
from hybrid_scheduler.schedulers.colours import colour_of
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class, scheduler_names
from hybrid_scheduler.server.errors import NAMING
from hybrid_scheduler.server.routes.parameters import SchedulerPath
from hybrid_scheduler.server.schemas import LearnAnswer, MetricDescription, SchedulerInfo
from hybrid_scheduler.server.services import ServicesOf

router = APIRouter(prefix="/api", tags=["schedulers"])


# Not a coroutine: loading a scheduler for the first time takes a while, so it runs in a thread.
@router.get("/schedulers", response_model=list[SchedulerInfo], summary="Registered schedulers")
def schedulers(services: ServicesOf) -> Any:
    """Every registered scheduler with its parameters and colour, whether it races, and whether it could here."""
    racing = {racer["name"] for racer in services.status()["schedulers"]}
    return [{**_facts(name), "in_race": name in racing} for name in scheduler_names()]


@router.post(
    "/schedulers/{name}/learn",
    response_model=LearnAnswer,
    responses=NAMING,
    summary="Train a live learner on the labels in the store",
)
async def learn(name: SchedulerPath, services: ServicesOf) -> Any:
    """Train a learner in the race from scratch on the latest 20 000 labels in the store that are of this node.

    The race goes on meanwhile, and the learner with it. What takes longer than 20 s is answered without a result.
    """
    return await services.leader.command("learn", scheduler=name)


# Not a coroutine either: other people's metrics are loaded.
@router.get(
    "/metrics/catalogue", response_model=list[MetricDescription], summary="Figures by which schedulers are compared"
)
def metrics() -> Any:
    """Every registered metric and every figure derived from them: title, unit, and which way is better."""
    return _described()


@cache
def _described() -> list[dict[str, Any]]:
    from hybrid_scheduler.engine.compare import DECISION
    from hybrid_scheduler.experiments.figures import DERIVED
    from hybrid_scheduler.metrics.registry import metric_infos

    return [{**asdict(info), "symbol": info.symbol} for info in (*metric_infos().values(), *DERIVED.values(), DECISION)]


@cache
def _facts(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": name, "colour": colour_of(name), "available": True, "reason": ""}
    try:
        scheduler = scheduler_class(name)
    except InvalidInputError as error:
        traits = dict.fromkeys(("is_learner", "learns_from_labels", "knows_truth", "lets_wait"), False)
        unknown = {"summary": "", "parameters": {}, **traits}
        return facts | unknown | {"available": False, "reason": str(error)}
    try:
        create_scheduler(name)
    except InvalidInputError as error:
        facts |= {"available": False, "reason": str(error)}
    parameters = inspect.signature(scheduler).parameters.items()
    return facts | {
        "summary": scheduler.summary(),
        "parameters": {key: None if p.default is inspect.Parameter.empty else p.default for key, p in parameters},
        "is_learner": issubclass(scheduler, Learner),
        "learns_from_labels": issubclass(scheduler, LabelLearner),
        "knows_truth": scheduler.knows_truth,
        "lets_wait": scheduler.dispatch is not Scheduler.dispatch,
    }
