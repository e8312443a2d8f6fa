"""Data between tasks, by hand: when it comes, what is saved, what schedulers see, and that nothing forgets it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from scripted import CPU, GPU, OTHER, Scripted, half, played, race, spans, whole

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import ClusterView, Decision, Part, Task, TaskBatch
from hybrid_scheduler.model.task import Dependency
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace

SLOW = (
    Device("cpu_0", "cpu"),
    Device("gpu_0", "gpu", bandwidth=10.0),
    Device("gpu_1", "gpu", bandwidth=10.0),
    Device("cpu_1", "cpu", node=1),
)
"""10 MB/s over a GPU's link. By the table a whole task takes 8, 4, 4 and 8 s, computing alone."""
SECONDS = (8.0, 4.0, 4.0, 8.0)


def task(task_id: int, parents: Sequence[Dependency] = (), memory: float = 0.0) -> Task:
    return Task(task_id, 1000.0, 0.5, memory, 0.0, 8.0, tuple(parents))  # type: ignore[arg-type]


def slow_race(tasks: Sequence[Task], changes: Sequence[tuple[float, str, float]] = (), **physics: Any) -> CheckedRace:
    return race(tasks, changes, SLOW, {t.task_id: SECONDS for t in tasks}, **physics)


@pytest.mark.parametrize(
    ("first", "second", "start"),
    [
        (whole(GPU), whole(GPU), 4.0),  # nothing moves
        (whole(GPU), whole(CPU), 6.0),  # out over the link of gpu_0
        (whole(GPU), whole(OTHER), 8.0),  # and in over that of gpu_1
        (whole(CPU), whole(GPU), 10.0),
        (whole(CPU), whole(CPU), 8.0),
        (half(), whole(GPU), 5.0),  # half of it is there; the other half comes from the CPU
        (half(), whole(CPU), 5.0),
        (whole(GPU), whole(3), 4.0 + 2.0 + 20.0 / 1250.0),  # over the network to another node
    ],
)
def test_a_part_starts_when_its_data_is_there(first: Decision, second: Decision, start: float) -> None:
    """20 MB from task 0 to task 1 take 2 s over every link."""
    out = played(slow_race([task(0), task(1, [(0, 20.0)])]), Scripted({0: [first], 1: [second]}))
    assert spans(out[1])[0][1] == pytest.approx(start)


def test_the_device_idles_meanwhile_and_the_queue_keeps_its_order() -> None:
    tasks = [task(0), task(1, [(0, 20.0)]), task(2, [0])]
    script = Scripted({0: [whole(GPU)], 1: [whole(CPU, 9.0)], 2: [whole(CPU, 1.0)]})
    out = played(slow_race(tasks), script)
    assert spans(out[1]) == [("cpu_0", 6.0, 14.0, False)]
    assert spans(out[2]) == [("cpu_0", 14.0, 22.0, False)]
    view = script.view_of(2)
    assert view.queued[CPU] == 1.0
    assert math.isnan(view.since[CPU])
    assert view.backlog[CPU] == 9.0


@pytest.mark.parametrize(("split", "cpu"), [("concurrent", (6.0, 10.0)), ("serial", (6.0, 10.0))])
def test_each_part_of_a_split_waits_for_its_own_data(split: str, cpu: tuple[float, float]) -> None:
    out = played(slow_race([task(0), task(1, [(0, 20.0)])], split=split), Scripted({0: [whole(GPU)], 1: [half()]}))
    assert spans(out[1]) == [("gpu_0", 4.0, 6.0, False), ("cpu_0", *cpu, False)]


def test_what_is_there_is_not_moved_again() -> None:
    """By the formula 8 / 2.5 s of computing and 100 MB at 10 MB/s: 10 s, of which 60 MB save 6 s, 500 MB all."""
    cluster = ClusterSpec(SLOW)
    for megabytes, moved in ((60.0, 4.0), (500.0, 0.0)):
        tasks = TaskBatch.from_tasks([task(0, memory=100.0), task(1, [(0, megabytes)], memory=100.0)])
        checked = CheckedRace(tasks, World(cluster, Physics(coexecution_penalty=0.0)))
        out = played(checked, Scripted({0: [whole(GPU)], 1: [whole(GPU)]}))
        assert spans(out[1])[0][1:3] == pytest.approx((13.2, 13.2 + 3.2 + moved))
        out = played(checked, Scripted({0: [whole(GPU)], 1: [half(GPU)]}))
        # The CPU part saves nothing and waits for what comes over the link.
        assert spans(out[1])[0][1:3] == pytest.approx((13.2, 13.2 + (3.2 + moved) / 2))
        assert spans(out[1])[1][1] == pytest.approx(13.2 + megabytes / 10.0)


def test_a_disturbance_moves_what_waits_for_its_data() -> None:
    """At 5 s the CPU slows down: task 1 still starts at 6 s, when its data is there, and takes twice as long."""
    tasks = [task(0), task(1, [(0, 20.0)])]
    out = played(slow_race(tasks, [(5.0, "cpu_0", 0.5)]), Scripted({0: [whole(GPU)], 1: [whole(CPU)]}))
    assert spans(out[1]) == [("cpu_0", 6.0, 22.0, False)]
    script = Scripted({0: [whole(GPU)], 1: [whole(CPU), whole(OTHER)]})
    out = played(slow_race(tasks, [(5.0, "cpu_0", 0.0)]), script)
    assert spans(out[1]) == [("cpu_0", 5.0, 5.0, True), ("gpu_1", 8.0, 12.0, False)]


def test_isolated_tasks_wait_for_their_data_too() -> None:
    checked = slow_race([task(0), task(1, [(0, 20.0)])], isolated=True)
    assert spans(played(checked, Scripted({0: [whole(GPU)], 1: [whole(CPU)]}))[1]) == [("cpu_0", 6.0, 14.0, False)]


def test_what_python_sees() -> None:
    tasks = [task(0), task(1, [(0, 20.0)]), task(2, [1])]
    looks = []

    class Looking(Scripted):
        def decide(self, task: Task, view: ClusterView) -> Decision:
            looks.append(([view.parts_of(i) for i in range(3)], [view.data_ready(t).tolist() for t in tasks]))
            return super().decide(task, view)

    played(slow_race(tasks), Looking({0: [whole(GPU, 3.0)], 1: [half()], 2: [whole(CPU)]}))
    first, split = (Part(GPU, 1.0, 3.0),), (Part(GPU, 0.5), Part(CPU, 0.5))
    assert [parts for parts, _ in looks] == [[(), (), ()], [first, (), ()], [first, split, ()]]
    assert looks[0][1] == [[0.0] * 4, [np.inf] * 4, [0.0] * 4]
    assert looks[1][1][0] == [4.0] * 4
    assert looks[1][1][1] == pytest.approx([6.0, 4.0, 8.0, 6.0 + 20.0 / 1250.0])


class Estimating(Scripted):
    uses_estimates = True


class Knowing(Scripted):
    knows_truth = True


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_times_have_the_data_in_them(noise: float) -> None:
    cluster = ClusterSpec(SLOW)
    tasks = TaskBatch.from_tasks([task(0, memory=100.0), task(1, [(0, 60.0)], memory=100.0)])
    checked = CheckedRace(tasks, World(cluster, Physics(noise=noise)), seed=3)
    script = Estimating({0: [whole(GPU)], 1: [whole(CPU)]})
    played(checked, script)
    times = script.view_of(1).times
    assert times == pytest.approx(np.array([[6.0, 0.0, 6.0, 6.0 + 60.0 / 1250.0], [8.0, 7.2, 13.2, 8.0]]))
    assert np.array_equal(times, script.view_of(1).times_of(tasks[1]))
    for decision in (whole(CPU), whole(GPU), whole(OTHER), half(), half(OTHER)):
        knowing = Knowing({0: [whole(GPU)], 1: [decision]})
        out = played(checked, knowing)
        view = knowing.view_of(1)
        for part, made in zip(decision.parts, out[1].parts, strict=True):
            stretch = 1.05 if len(decision.parts) == 2 else 1.0
            seconds = (view.times[0, part.device] + part.share * view.times[1, part.device]) * stretch
            assert made.start == max(view.now, view.free[part.device])
            assert made.end == pytest.approx(made.start + seconds, rel=1e-12)


def graph(count: int, seed: int) -> TaskBatch:
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(0.15, count))
    return TaskBatch.from_tasks(
        Task(
            i,
            float(draw.uniform(200, 2500)),
            float(draw.uniform(0, 1)),
            float(draw.uniform(10, 500)),
            float(arrival[i]),
            dependencies=tuple(
                (int(p), float(draw.choice([0.0, 100.0, 4000.0])))  # type: ignore[misc]
                for p in sorted(set(draw.integers(max(0, i - 12), i, draw.integers(0, 4)).tolist()) if i else ())
            ),
        )
        for i in range(count)
    )


WORLD = World(
    ClusterSpec(
        (
            *ClusterSpec.default(2).devices,
            Device("cpu_1", "cpu", node=1),
            Device("gpu_2", "gpu", bandwidth=900.0, node=1),
        )
    ),
    Physics(noise=0.3),
)


def test_the_oracle_knows_when_a_task_will_end() -> None:
    """What it expects is what happens: its parts run as long as it says."""
    checked = CheckedRace(graph(150, 1), WORLD, seed=2)
    for outcome in checked.run(create_scheduler("oracle")):
        for part in outcome.parts:
            assert part.end - part.start == pytest.approx(part.expected, rel=1e-9)


@pytest.mark.parametrize("step", [0.4, 11.0])
def test_live_is_batch(step: float) -> None:
    """Finished tasks are forgotten on the way, but for those whose data somebody may yet need."""
    names = ("mct", "oracle", "sjf", "gpu_only")
    tasks = graph(400, 7)
    live = LiveRace({name: create_scheduler(name) for name in names}, WORLD, seed=2, forget=16)
    found: dict[str, dict[int, float]] = {name: {} for name in names}
    fed, now = 0, 0.0
    while True:
        now += step
        upto = int(np.searchsorted(tasks.arrival_time, now, side="right"))
        if upto > fed:
            bare = [
                Task(t.task_id, t.size, t.compute_intensity, t.memory_required, t.arrival_time) for t in tasks[fed:upto]
            ]
            live.add(TaskBatch.from_tasks(bare), {t.task_id: t.dependencies_with_data for t in tasks[fed:upto]})
            fed = upto
        gone = live.advance(now) if fed < len(tasks) else live.drain()
        for name, outcomes in gone.by_scheduler.items():
            found[name].update(zip(outcomes.task_id.tolist(), outcomes.finish_time.tolist(), strict=True))
        if fed == len(tasks):
            break
    assert live.forgotten > 100
    for name in names:
        batch = Race(tasks, WORLD, seed=2).run(create_scheduler(name))
        assert [found[name][i] for i in range(len(tasks))] == pytest.approx(batch.finish_time, rel=1e-9)


class Hesitant(Scheduler):
    """Lets tasks wait for as long as one before them has not ended, then takes the device before the last one's."""

    uses_estimates = True

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        if view.idle.all():
            yield waiting[0], Decision.whole(len(view.names) - 1 - view.number % len(view.names))


def test_giving_up_leaves_an_idle_node() -> None:
    """Parts that wait for data are lost with the rest, and what comes next starts at once."""
    live = LiveRace({"hesitant": Hesitant(), "gpu_only": create_scheduler("gpu_only")}, WORLD)
    live.submit([Task(0, 4000.0, 0.5, 10.0, 0.0)])
    live.advance(live.all_free())
    live.submit([Task(1, 500.0, 0.5, 10.0, live.now)], {1: ((0, 1e6),)})
    assert live.all_free() > live.now + 10.0
    for name in live.contestants:
        assert live.give_up(name, "too slow") == 1
    assert live.all_free() <= live.now
    (task_,) = (t for t in live.drain().finished.tasks if t.task_id == 1)
    assert task_.task_id == 1


def test_disturbed_races_with_data_are_judged() -> None:
    changes = [Disturbance(3.0, "gpu_0", 0.0), Disturbance(9.0, "gpu_0", 1.0), Disturbance(5.0, "cpu_1", 0.4)]
    world = World(WORLD.cluster.with_disturbances(changes), WORLD.physics)
    for name in ("oracle", "mct", "sjf", "round_robin"):
        checked = CheckedRace(graph(120, 3), world, seed=5)
        slow, fast = (checked.run(create_scheduler(name), compiled=compiled) for compiled in (False, True))
        assert list(slow) == list(fast)
