"""A real race in a store, for tests that read the history."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.store import Batch, RunRow, Store, result_row, task_row, training_row
from hybrid_scheduler.workloads import WorkloadGenerator

CLUSTER = ClusterSpec.default(2)
RACERS = ("cpu_only", "greedy", "round_robin", "sjf", "oracle")


def make_tasks(count: int, *, rate: float = 2.0, dependency_prob: float = 0.0) -> TaskBatch:
    """Tasks of the mixed preset that queue a little."""
    return WorkloadGenerator(7).generate("mixed", count, arrival_rate=rate, dependency_prob=dependency_prob)


async def store_race(
    store: Store,
    tasks: TaskBatch,
    racers: tuple[str, ...] = RACERS,
    physics: Physics | None = None,
    *,
    queues: bool = True,
) -> RunRow:
    """Race and keep everything, the way live and compared runs are kept; `queues` at every decision, too."""
    world = World(CLUSTER, physics or Physics())
    schedulers = {name: create_scheduler(name) for name in racers}
    race = Race(tasks, world)
    outcomes: dict[str, OutcomeBatch] = {name: race.run(each, recording=queues) for name, each in schedulers.items()}
    run = await store.begin_run(
        "compare",
        seed=0,
        configuration={"cluster": world.facts()},
        schedulers=racers,
        reserve=len(tasks),
    )
    labels = race.timed.labels()
    first = run.first_task_id
    parents = np.split(tasks.parents, tasks.parent_start[1:-1])
    await store.write(
        Batch(
            tuple(
                task_row(task, run.id, first + i, [first + int(p) for p in parents[i]]) for i, task in enumerate(tasks)
            ),
            tuple(
                result_row(outcome, name, first + i)
                for i, rows in enumerate(zip(*outcomes.values(), strict=True))
                for name, outcome in zip(racers, rows, strict=True)
            ),
            tuple(training_row(labels.row(i), first + i, CLUSTER.names) for i in range(len(tasks))),
        )
    )
    await store.end_run(run.id, "finished", {})
    found = await store.run(run.id)
    assert found is not None
    return found
