"""Every registered scheduler against the suite that third parties run too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from hybrid_scheduler.learning.pending_decisions import KEPT
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_names
from hybrid_scheduler.testing import SCHEDULER_CHECKS
from hybrid_scheduler.testing.schedulers import SchedulerFactory, check_bounded_state


@pytest.mark.parametrize("check", SCHEDULER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", scheduler_names())
def test_conforms(name: str, check: Callable[[SchedulerFactory], None]) -> None:
    factory = partial(create_scheduler, name)
    if name == "rl_agent" and check is check_bounded_state:
        # A gradient step a task: 100 000 of them take minutes. After half of these its pending decisions are full.
        check_bounded_state(factory, tasks=2 * KEPT + 100)
    else:
        check(factory)
