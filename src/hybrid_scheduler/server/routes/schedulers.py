"""What is registered."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.colours import colour_of
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class, scheduler_names
from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.schemas import SchedulerInfo
from hybrid_scheduler.server.services import ServicesOf

router = APIRouter(prefix="/api", tags=["schedulers"])


# Not a coroutine: loading a scheduler for the first time takes a while, so it runs in a thread.
@router.get("/schedulers", response_model=list[SchedulerInfo], responses=declared(429), summary="Registered schedulers")
def schedulers(services: ServicesOf) -> Any:
    """Every registered scheduler with its parameters and colour, whether it races, and whether it could here."""
    racing = {racer["name"] for racer in services.status()["schedulers"]}
    return [{**_facts(name), "in_race": name in racing} for name in scheduler_names()]


@cache
def _facts(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": name, "colour": colour_of(name), "available": True, "reason": ""}
    try:
        found = scheduler_class(name)
        create_scheduler(name)
    except InvalidInputError as error:
        facts |= {"available": False, "reason": str(error)}
        if "found" not in locals():
            return facts | {"summary": "", "parameters": {}, "is_learner": False, "knows_truth": False}
    parameters = inspect.signature(found).parameters.items()
    return facts | {
        "summary": found.summary(),
        "parameters": {key: None if p.default is inspect.Parameter.empty else p.default for key, p in parameters},
        "is_learner": issubclass(found, Learner),
        "knows_truth": found.knows_truth,
    }
