"""The live race: however the clock is turned, the outcomes are those of one batch race, and memory stays bounded."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.engine.source import LiveSource
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("round_robin", "greedy", "mct", "oracle", "hybrid_ml", "rl_agent")
RATE = 20.0


def live_race(names: tuple[str, ...] = NAMES, **world: object) -> LiveRace:
    cluster = world.get("cluster", ClusterSpec.default())
    physics = world.get("physics", Physics(noise=0.1))
    return LiveRace({name: create_scheduler(name, 1) for name in names}, cluster, physics, seed=3)  # type: ignore[arg-type]


def run_live(race: LiveRace, tasks: int, step: float) -> dict[str, dict[int, tuple[float, float, float]]]:
    """Turn the clock in even steps; returns finish, energy and cost by scheduler and task."""
    source, found, added = LiveSource("mixed", 5, RATE), {name: {} for name in race.contestants}, 0
    while added < tasks:
        arrived = source.until(race.now + step, tasks - added, added)
        if arrived is not None:
            race.add(arrived.tasks, arrived.parents)
            added += len(arrived.tasks)
        collect(race.advance(race.now + step), found)
    collect(race.drain(), found)
    return found


def collect(finished, found) -> None:  # type: ignore[no-untyped-def]
    assert len(finished.tasks) == len(finished.labels) == len(finished.least_seconds)
    for name, outcomes in finished.outcomes.items():
        for task, outcome in zip(finished.tasks, outcomes, strict=True):
            assert outcome.task_id == task.task_id
            assert task.task_id not in found[name], "handed out twice"
            found[name][task.task_id] = (outcome.finish_time, outcome.energy, outcome.cost)


@pytest.mark.parametrize("step", [0.05, 7.0])
def test_live_is_batch(step: float) -> None:
    tasks = 1600
    found = run_live(live_race(), tasks, step)
    stream = WorkloadGenerator(5).generate("mixed", tasks, RATE)
    for name in NAMES:
        source = LiveSource("mixed", 5, RATE)
        batch = source.until(np.inf, tasks, 0)
        assert batch is not None
        assert batch.tasks.arrival_time == pytest.approx(stream.arrival_time, rel=1e-12)
        outcomes = Race(batch.tasks, ClusterSpec.default(), Physics(noise=0.1), seed=3).run(create_scheduler(name, 1))
        assert len(found[name]) == tasks
        assert [found[name][i][0] for i in range(tasks)] == outcomes.finish_time.tolist()
        assert [found[name][i][1] for i in range(tasks)] == outcomes.energy.tolist()


def test_finished_tasks_are_forgotten() -> None:
    race = live_race(("greedy", "oracle"))
    run_live(race, 20_000, 5.0)
    assert race.forgotten > 18_000
    for contestant in race.contestants.values():
        assert len(contestant.sim.state.tasks) < 6000
        assert len(contestant.sim.state.parts) < 12_000


def test_a_disturbed_node_gives_the_same_live_and_batch() -> None:
    cluster = ClusterSpec(
        ClusterSpec.default().devices, (Disturbance(20.0, "gpu_1", 0.0), Disturbance(60.0, "gpu_1", 1.0))
    )
    race = live_race(("greedy", "mct"), cluster=cluster, physics=Physics())
    found = run_live(race, 4000, 0.9)
    batch = LiveSource("mixed", 5, RATE).until(np.inf, 4000, 0)
    assert batch is not None
    for name in ("greedy", "mct"):
        outcomes = Race(batch.tasks, cluster, Physics(), seed=3).run(create_scheduler(name, 1))
        finish = np.array([found[name][i][0] for i in range(4000)])
        assert finish == pytest.approx(outcomes.finish_time, rel=1e-9)


def task_at(race: LiveRace, task_id: int, size: float = 900.0) -> Task:
    return Task(task_id, size, 0.8, 50.0, race.now)


def test_a_submitted_task_is_judged_at_once() -> None:
    race = live_race()
    run_live(race, 300, 1.0)
    race.now = max(c.sim.now for c in race.contestants.values())
    verdicts = race.submit(task_at(race, 999))
    assert set(verdicts) == set(NAMES)
    for name, verdict in verdicts.items():
        assert verdict is not None
        assert verdict.projected.task_id == 999
        assert verdict.projected.response_time >= verdict.best_response - 1e-9
        assert verdict.explanation.reason
        assert len(verdict.seconds) == len(verdict.wait) == 5
        if name == "oracle":
            assert verdict.projected.response_time == pytest.approx(verdict.best_response)
    assert [task.task_id for task in race.drain().tasks] == [999]


def test_a_submitted_task_waits_for_its_parents() -> None:
    race = live_race(("cpu_only", "oracle"))
    race.advance(1.0)
    big = race.submit(task_at(race, 1, 3000.0))
    child = race.submit(task_at(race, 2), parents=[1, 77])
    assert child == {"cpu_only": None, "oracle": None}
    race.add(TaskBatch.from_tasks([Task(3, 10.0, 0.5, 1.0, race.now)]))
    finished = race.drain()
    assert [task.task_id for task in finished.tasks] == [1, 2, 3]
    for name, outcomes in finished.outcomes.items():
        verdict = big[name]
        assert verdict is not None
        assert outcomes[0].finish_time == pytest.approx(verdict.projected.finish_time)
        assert min(part.start for part in outcomes[1].parts) >= outcomes[0].finish_time - 1e-12


def test_the_rate_can_change_in_the_middle_of_a_gap() -> None:
    source = LiveSource("mixed", 1, 0.5)
    first = source.next_arrival()
    source.change_rate(5.0, first / 2)
    assert source.next_arrival() == pytest.approx(first / 2 + first / 20)


def test_utilization_is_what_the_parts_say() -> None:
    race = live_race(("cpu_only",))
    race.submit(task_at(race, 1, 500.0))
    end = race.contestants["cpu_only"].sim.state.parts[0]["end"]
    race.advance(2 * float(end))
    assert race.utilization(0.0)["cpu_only"]["cpu_0"] == pytest.approx(0.5)
    assert race.utilization(0.0)["cpu_only"]["gpu_0"] == 0.0
