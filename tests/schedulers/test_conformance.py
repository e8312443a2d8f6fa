"""Every registered scheduler against the suite that third parties run too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hybrid_scheduler.learning.pending_decisions import KEPT
from hybrid_scheduler.schedulers import exact_plan
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_names
from hybrid_scheduler.testing import SCHEDULER_CHECKS
from hybrid_scheduler.testing.schedulers import SchedulerFactory, check_bounded_state

BRIEF: dict[str, dict[str, Any]] = {"cp_sat": {"seconds": 0.1, "room_seconds": 0.001, "window": 2}}
"""Short searches."""
SELDOM = {name: {"retrain_interval": 1000} for name in ("hybrid_ml", "hybrid_queue")}
"""What grows does so by its rows, not by how often the forest is refreshed, of which a long run consists otherwise."""


@pytest.mark.parametrize("check", SCHEDULER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", scheduler_names())
def test_conforms(name: str, check: Callable[[SchedulerFactory], None], monkeypatch: pytest.MonkeyPatch) -> None:
    factory = partial(create_scheduler, name, **BRIEF.get(name, {}))
    monkeypatch.setattr(exact_plan, "PATIENCE", 1000.0)  # steps end its searches, however busy the machine is
    if name == "rl_agent" and check is check_bounded_state:
        # A gradient step a task: 100 000 of them take minutes. After half of these its pending decisions are full.
        check_bounded_state(factory, tasks=2 * KEPT + 100)
    elif name == "cp_sat" and check is check_bounded_state:
        # A search a task.
        check_bounded_state(factory, tasks=1000)
    elif name in SELDOM and check is check_bounded_state:
        check_bounded_state(partial(factory, **SELDOM[name]))
    else:
        check(factory)
