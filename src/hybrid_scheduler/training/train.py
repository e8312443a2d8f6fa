"""Training a scheduler on tasks, whichever way it learns."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.labels import label_tasks
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import LabelLearner, RaceLearner, Scheduler


def train_scheduler(
    scheduler: Scheduler,
    tasks: TaskBatch,
    cluster: ClusterSpec,
    physics: Physics,
    *,
    seed: int,
    isolated: bool = False,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Train a scheduler in place; one that does not learn is left as it is.

    A learner from labels is fitted to the oracle's labels of the tasks, a learner from races races through them.

    Args:
        scheduler: The scheduler.
        tasks: What it is trained on; choose another seed than that of the tasks it will be judged by.
        cluster: The devices.
        physics: How they behave.
        seed: Seed of the noise.
        isolated: Every task meets an idle node. Labels are always those of an idle node.
        progress: Told now and then how many tasks are done.

    Raises:
        InvalidInputError: There are no tasks, or they do not go together with the node.
    """
    if isinstance(scheduler, LabelLearner):
        realised = physics.realised_times(physics.nominal_times(tasks, cluster), tasks, seed)
        scheduler.fit(label_tasks(tasks, realised, cluster, physics))
        if progress is not None:
            progress(len(tasks))
    elif isinstance(scheduler, RaceLearner):
        race = Race(tasks, cluster, physics, seed=seed, isolated=isolated)
        scheduler.begin_training(len(tasks))
        race.run(scheduler, progress=progress)
        scheduler.end_training()
