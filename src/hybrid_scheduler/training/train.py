"""Training a scheduler on tasks, whichever way it learns."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.schedulers.base import LabelLearner, RaceLearner, Scheduler


def train_scheduler(
    scheduler: Scheduler,
    scenario: Scenario,
    *,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Train a scheduler in place; one that does not learn is left as it is.

    A learner from labels is fitted to the oracle's labels of the tasks, a learner from races races through them.

    Args:
        scheduler: The scheduler.
        scenario: What it is trained on (`Scenario.training`): other tasks than those it will be judged by. Labels are
            always those of an idle node.
        progress: Told now and then how many tasks are done.

    Raises:
        InvalidInputError: There are no tasks, or they do not go together with the node.
    """
    tasks, world = scenario.batch(), scenario.world
    if isinstance(scheduler, LabelLearner):
        scheduler.fit(world.timed(tasks, scenario.seed).labels())
        if progress is not None:
            progress(len(tasks))
    elif isinstance(scheduler, RaceLearner):
        race = Race(tasks, world, seed=scenario.seed, isolated=scenario.isolated)
        scheduler.begin_training(len(tasks))
        race.run(scheduler, progress=progress)
        scheduler.end_training()
