"""Wide tasks: several devices of one kind from a common start to a common end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Scripted, played, race, spans, whole

from hybrid_scheduler.model import Decision, IllegalDecisionError, InvalidInputError, Outcome, Part, Task
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler

NODE = (
    Device("cpu_0", "cpu"),
    Device("gpu_0", "gpu", memory_mb=100.0),
    Device("gpu_1", "gpu", memory_mb=100.0),
    Device("gpu_2", "gpu", memory_mb=100.0),
)
CPU, GPU, SECOND, THIRD = range(4)
TIMES = (8.0, 4.0, 4.0, 4.0)


def wide(task_id: int, width: int, arrival: float = 0.0, memory: float = 0.0) -> Task:
    return Task(task_id, 1000.0, 0.5, memory, arrival, 123.0, width=width)


def raced(
    tasks: Sequence[Task],
    script: Mapping[int, Sequence[Decision]] | Scheduler,
    disturbances: Sequence[tuple[float, str, float]] = (),
    times: Mapping[int, tuple[float, ...]] | None = None,
    devices: tuple[Device, ...] = NODE,
    **physics: Any,
) -> dict[int, Outcome]:
    seconds = {t.task_id: (times or {}).get(t.task_id, TIMES) for t in tasks}
    race_ = race(tasks, disturbances, devices=devices, seconds=seconds, **physics)
    return played(race_, script if isinstance(script, Scheduler) else Scripted(script))


def test_gang_starts_when_its_last_device_is_free() -> None:
    tasks = [wide(0, 1), wide(1, 2), wide(2, 1)]
    outcomes = raced(tasks, {0: [whole(GPU)], 1: [Decision.wide((GPU, SECOND))], 2: [whole(SECOND)]})
    assert spans(outcomes[1]) == [("gpu_0", 4.0, 8.0, False), ("gpu_1", 4.0, 8.0, False)]
    assert spans(outcomes[2]) == [("gpu_1", 8.0, 12.0, False)], "a device of a gang is reserved until it starts"
    assert outcomes[1].actual_time == 4.0
    assert outcomes[1].gpu_fraction == 1.0
    assert outcomes[1].energy == pytest.approx(2 * 4.0 * 50.0)


def test_one_device_is_completed_by_those_that_are_free_first() -> None:
    tasks = [wide(0, 1), wide(1, 1), wide(2, 2)]
    script = {0: [whole(GPU, 4.0)], 1: [whole(SECOND, 3.0)], 2: [whole(GPU, 4.0)]}
    outcomes = raced(tasks, script)
    assert [p.device for p in outcomes[2].parts] == ["gpu_0", "gpu_2"]
    outcomes = raced([*tasks[:2], wide(2, 3), wide(3, 2)], {**script, 3: [whole(THIRD)]})
    assert [p.device for p in outcomes[2].parts] == ["gpu_0", "gpu_2", "gpu_1"]
    assert {p.start for p in outcomes[3].parts} == {8.0}


def test_split_of_a_wide_task_goes_where_the_larger_share_is() -> None:
    tasks = [wide(0, 2), wide(1, 2, 20.0)]
    outcomes = raced(tasks, {0: [Decision.split(SECOND, CPU, 0.5)], 1: [Decision.split(GPU, CPU, 0.3)]})
    assert [p.device for p in outcomes[0].parts] == ["gpu_1", "gpu_0"]
    assert [p.device for p in outcomes[1].parts] == ["gpu_0", "gpu_1"], "one CPU is not enough, so GPUs take it"


def test_unlike_devices_go_in_step() -> None:
    outcomes = raced([wide(0, 3)], {0: [Decision.wide((GPU, SECOND, THIRD))]}, times={0: (9.0, 2.0, 5.0, 3.0)})
    assert {(p.start, p.end) for p in outcomes[0].parts} == {(0.0, 5.0)}
    assert outcomes[0].cost == pytest.approx(3 * 5.0 * 0.0001)


def test_slow_down_of_one_stretches_the_common_end() -> None:
    tasks = [wide(0, 2), wide(1, 2, 1.0)]
    script = {0: [Decision.wide((GPU, SECOND))], 1: [Decision.wide((SECOND, THIRD))]}
    outcomes = raced(tasks, script, [(2.0, "gpu_1", 0.5)])
    assert {(p.start, p.end) for p in outcomes[0].parts} == {(0.0, 6.0)}
    assert {(p.start, p.end) for p in outcomes[1].parts} == {(6.0, 14.0)}


def test_all_parts_are_lost_when_one_device_fails() -> None:
    script = {0: [Decision.wide((GPU, SECOND)), Decision.wide((SECOND, THIRD))]}
    outcomes = raced([wide(0, 2)], script, [(1.0, "gpu_0", 0.0)])
    assert spans(outcomes[0]) == [
        ("gpu_0", 0.0, 1.0, True),
        ("gpu_1", 0.0, 1.0, True),
        ("gpu_1", 1.0, 5.0, False),
        ("gpu_2", 1.0, 5.0, False),
    ]


@pytest.mark.parametrize("scheduler", ["gpu_only", "mct", "fcfs", "sjf", "min_min", "hybrid_queue"])
def test_too_wide_for_what_is_left_fails(scheduler: str) -> None:
    tasks = [wide(0, 3, 2.0), wide(1, 2, 2.0), wide(2, 1, 2.0)]
    outcomes = raced(tasks, create_scheduler(scheduler), [(1.0, "gpu_0", 0.0)])
    assert outcomes[0].failed
    assert not outcomes[0].parts
    assert not outcomes[1].failed
    assert not outcomes[2].failed


def test_wider_than_the_cluster_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"task 7 has width 4: .* has 1 CPUs and 3 GPUs; give it more"):
        raced([wide(0, 3), wide(7, 4)], {})


@pytest.mark.parametrize(("policy", "placed"), [("fallback", ["cpu_0", "cpu_1"]), ("fail", [])])
def test_memory_counts_on_each_device(policy: str, placed: list[str]) -> None:
    devices = (*NODE, Device("cpu_1", "cpu"))
    tasks = [wide(0, 2, memory=201.0), wide(1, 2, memory=200.0)]
    script = {0: [Decision.wide((GPU, SECOND))], 1: [Decision.wide((GPU, SECOND))]}
    times = dict.fromkeys((0, 1), (8.0, 4.0, 4.0, 4.0, 8.0))
    outcomes = raced(tasks, script, times=times, devices=devices, memory_policy=policy)
    assert [p.device for p in outcomes[0].parts] == placed
    assert [p.device for p in outcomes[1].parts] == ["gpu_0", "gpu_1"]


ILLEGAL: list[tuple[tuple[Part, ...], str]] = [
    ((), "one part for each of them, or one device of its gang"),
    (Decision.wide((GPU, SECOND)).parts, "one part for each of them, or one device of its gang"),
    (Decision.wide((GPU, SECOND, CPU)).parts, "the devices of a gang must be of one kind"),
    (Decision.wide((GPU, SECOND, GPU)).parts, "the devices of a gang must differ"),
    (Decision.wide((GPU, SECOND, 9)).parts, "a part names a device that does not exist"),
    (Decision.wide((GPU, SECOND, 4)).parts, "a part names a device that is down"),
    ((Part(GPU, 0.5), Part(SECOND, 0.25), Part(THIRD, 0.25)), "the shares of a gang must be equal"),
    (Decision.wide((GPU, SECOND, THIRD), -1.0).parts, "an expected time is negative or not a number"),
    ((Part(4),), "a part names a device that is down"),
]


@pytest.mark.parametrize(("parts", "rule"), ILLEGAL)
def test_illegal(parts: tuple[Part, ...], rule: str) -> None:
    devices = (*NODE, Device("gpu_3", "gpu"))
    times = {17: (8.0, 4.0, 4.0, 4.0, 4.0)}
    with pytest.raises(IllegalDecisionError, match=f"task 17 of width 3 .* is illegal: .*{rule}"):
        raced([wide(17, 3, 2.0)], {17: [Decision(parts)]}, [(1.0, "gpu_3", 0.0)], times, devices)


def starts(tasks: Sequence[tuple[float, list[int], list[float]]], devices: int) -> list[tuple[float, float]]:
    """What becomes of gangs that are decided as they arrive, in a few lines: (arrival, devices, seconds per device)."""
    free, spans_ = [0.0] * devices, []
    for arrival, held, seconds in tasks:
        start = max([arrival, *(free[d] for d in held)])
        end = start + max(seconds[d] for d in held)
        for d in held:
            free[d] = end
        spans_.append((start, end))
    return spans_


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_reference(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 6), "devices")
    devices = tuple(Device(f"cpu_{d}", "cpu") for d in range(count))
    seed = data.draw(st.integers(0, 2**32 - 1), "seed")
    draw = np.random.default_rng(seed)
    n = data.draw(st.integers(1, 12), "tasks")
    arrival = np.cumsum(draw.exponential(1.0, n))
    held = [draw.permutation(count)[: draw.integers(1, count + 1)].tolist() for _ in range(n)]
    seconds = [draw.exponential(2.0, count) + 0.01 for _ in range(n)]
    tasks = [wide(i, len(held[i]), arrival[i]) for i in range(n)]
    script = {i: [Decision.wide(held[i]) if len(held[i]) > 1 else whole(held[i][0])] for i in range(n)}
    times = {i: tuple(seconds[i].tolist()) for i in range(n)}
    found = raced(tasks, script, times=times, devices=devices)
    expected = starts([(arrival[i], held[i], seconds[i].tolist()) for i in range(n)], count)
    for i in range(n):
        assert [p.device for p in found[i].parts] == [f"cpu_{d}" for d in held[i]]
        for part in found[i].parts:
            assert (part.start, part.end) == pytest.approx(expected[i], rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["greedy", "mct", "oracle", "fcfs", "sjf", "random"]))
@settings(max_examples=40, deadline=None)
def test_every_schedule_is_valid_whatever_happens(seed: int, scheduler: str) -> None:
    """`played` judges every schedule by the independent rules, disturbances and serial splits included."""
    draw = np.random.default_rng(seed)
    n = 12
    tasks = [
        wide(i, int(draw.integers(1, 4)), float(draw.uniform(0, 10)), float(draw.uniform(0, 150))) for i in range(n)
    ]
    times = {i: tuple((draw.exponential(2.0, 4) + 0.01).tolist()) for i in range(n)}
    events = [(float(draw.uniform(0, 12)), f"gpu_{draw.integers(0, 3)}", float(draw.choice([0.0, 0.5, 1.0, 2.0])))
              for _ in range(draw.integers(0, 4))]  # fmt: skip
    split = str(draw.choice(["concurrent", "serial"]))
    found = raced(tasks, create_scheduler(scheduler), sorted(events), times, split=split)
    assert len(found) == n
