"""Compile what a live race needs, so that the first start is quick: run once after installation.

python -m hybrid_scheduler.live.warm
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hybrid_scheduler.config import Config
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.schedulers.registry import scheduler_class, scheduler_names
from hybrid_scheduler.store import RunRow

TURNS = 20
"""More than a thousand tasks: learners refresh, and finished tasks are forgotten."""


def warm() -> int:
    """Race a while without a store, and load who does not race; returns how many tasks were finished."""
    for name in scheduler_names():
        scheduler_class(name)
    plan = Plan.of(LiveStart(Config()))
    plan = replace(
        plan, schedulers=(*plan.schedulers, "sjf"), flat_out=True
    )  # one that lets tasks wait takes other code
    run = RunRow(0, "live", "", plan.seed, {}, plan.schedulers, None, 0, 0, None, 0, datetime.now(UTC), None, "running")
    session = Session(plan, run, {}, (), lambda level, message: None)
    for _ in range(TURNS):
        session.turn()
    session.submit(
        [{"size": 500.0, "compute_intensity": 0.5, "memory_required": 50.0, "kind": None, "dependencies": (0,)}]
    )
    session.sample()
    session.comparison()
    session.utilization()
    for _ in session.drain(60.0):
        pass
    return session.figures.finished


if __name__ == "__main__":
    warm()
