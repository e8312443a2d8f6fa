"""When the history is pruned, and how much of it in one step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from hybrid_scheduler.live import pruning
from hybrid_scheduler.live.pruning import Pruner
from hybrid_scheduler.store import Retention, StoreUnavailableError

LIMITS = Retention(tasks=7)


class Asked:
    """Stands for the writer and its store: notes what is asked, answers from a list, then with 0."""

    def __init__(self, *answers: int | StoreUnavailableError) -> None:
        self.answers = list(answers)
        self.steps: list[int] = []

    async def __call__(self, call: Callable[[Any], Awaitable[int]]) -> int:
        return await call(self)

    async def prune(self, limits: Retention, most: int) -> int:
        assert limits == LIMITS
        self.steps.append(most)
        answer = self.answers.pop(0) if self.answers else 0
        if isinstance(answer, StoreUnavailableError):
            raise answer
        return answer


def steps(
    asked: Asked, *events: Callable[[Pruner], None], owner: bool = True, seconds: float = pruning.LOOK_SECONDS
) -> list[int]:
    """The steps that follow these events, one after the other."""

    async def run() -> None:
        pruner = Pruner(LIMITS, asked, lambda: owner, seconds=seconds)
        running = asyncio.create_task(pruner.run())
        for event in events:
            event(pruner)
            for _ in range(50):
                await asyncio.sleep(0)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    asyncio.run(run())
    return asked.steps


def test_it_goes_on_until_nothing_is_left_to_do() -> None:
    assert steps(Asked(1000, 1000, 5), lambda pruner: pruner.wrote(400)) == [800, 100, 100, 100]


def test_a_few_tasks_are_not_worth_a_look_but_a_full_disk_is() -> None:
    assert steps(Asked(), lambda pruner: pruner.wrote(pruning.LOOK_TASKS - 1)) == []
    assert steps(Asked(), lambda pruner: pruner.look()) == [100]
    assert steps(Asked(), lambda pruner: pruner.wrote(10**6)) == [1000], "a step stays short"


def test_time_passes_too() -> None:
    assert len(steps(Asked(), lambda pruner: None, seconds=0.0)) > 1


def test_who_does_not_own_the_race_prunes_nothing() -> None:
    assert steps(Asked(9), lambda pruner: pruner.look(), owner=False) == []


def test_a_store_that_is_away_is_asked_the_next_time() -> None:
    away = StoreUnavailableError("away")
    assert steps(Asked(5, away, 5), lambda pruner: pruner.look(), lambda pruner: pruner.look()) == [100] * 4
