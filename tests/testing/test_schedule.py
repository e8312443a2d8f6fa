"""The judge of schedules: silent on a schedule made by hand, and loud when one thing in it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hybrid_scheduler.model import Outcome, PartRecord, Task
from hybrid_scheduler.testing import PlainDevice, Rules, assert_valid_schedule, schedule_violations

RULES = Rules(
    (
        PlainDevice("cpu_0", "cpu", watts=30.0, dollars_per_second=2.0),
        PlainDevice("gpu_0", "gpu", memory_mb=100.0, watts=50.0, dollars_per_second=10.0),
        PlainDevice("cpu_1", "cpu", node=1, watts=30.0, dollars_per_second=2.0),
        PlainDevice("gpu_1", "gpu", memory_mb=100.0, watts=50.0, dollars_per_second=10.0),
    ),
    penalty=0.0,
)
WORK = {"cpu_0": 8.0, "cpu_1": 8.0, "gpu_0": 4.0, "gpu_1": 4.0}


def seconds(task_id: int, device: str, share: float, resident: float) -> float:
    return (WORK[device] - resident / 10.0) * share


def task(task_id: int, arrival: float, memory: float = 10.0, parents: tuple[int, ...] = ()) -> Task:
    return Task(task_id, 1000.0, 0.5, memory, arrival, 8.0, parents)


def part(device: str, share: float, start: float, end: float, *, lost: bool = False) -> PartRecord:
    gpu_id = int(device[-1]) if device.startswith("gpu") else None
    return PartRecord(device, gpu_id, share, start, end, 0.0, lost)


def outcome(task_id: int, arrival: float, ready: float, *parts: PartRecord, failed: bool = False) -> Outcome:
    """An outcome whose derived figures are right for a concurrent split."""
    live = [p for p in parts if not p.lost]
    gpu = [p.gpu_id is not None for p in parts]
    spans = [p.end - p.start for p in parts]
    return Outcome(
        task_id,
        arrival,
        ready,
        ready,
        max((p.end for p in live), default=ready),
        max((p.end - p.start for p in live), default=0.0),
        sum((50.0 if g else 30.0) * s for g, s in zip(gpu, spans, strict=True)),
        sum((10.0 if g else 2.0) * s for g, s in zip(gpu, spans, strict=True)),
        failed,
        0,
        parts,
    )


# Task 0 whole on the GPU, 1 split behind it, 2 whole on the CPU behind that part, 3 a child of 1.
TASKS = [task(0, 0.0), task(1, 1.0), task(2, 1.0), task(3, 0.0, parents=(1,))]
VALID = [
    outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 4.0)),
    outcome(1, 1.0, 1.0, part("gpu_0", 0.5, 4.0, 6.0), part("cpu_0", 0.5, 1.0, 5.0)),
    outcome(2, 1.0, 1.0, part("cpu_0", 1.0, 5.0, 13.0)),
    outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 6.0, 10.0)),
]


def judge(
    changed: dict[int, Outcome], rules: Rules = RULES, tasks: list[Task] = TASKS, valid: list[Outcome] = VALID
) -> list[str]:
    return schedule_violations(tasks, [changed.get(o.task_id, o) for o in valid], rules, seconds)


def test_valid_schedule_passes() -> None:
    assert judge({}) == []
    assert_valid_schedule(TASKS, VALID, RULES, seconds)


BROKEN: dict[str, tuple[Outcome, str]] = {
    "overlap": (outcome(3, 0.0, 6.0, part("cpu_0", 1.0, 6.0, 14.0)), "cpu_0 runs tasks 2 and 3 at once"),
    "idles while a part waits": (
        outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 6.5, 10.5)),
        "gpu_0 starts task 3 at 6.5, although it could at 6.0",
    ),
    "done twice": (
        outcome(2, 1.0, 1.0, part("gpu_1", 1.0, 1.0, 5.0), part("gpu_1", 1.0, 5.0, 9.0)),
        "its shares add up to 2.0",
    ),
    "before ready": (outcome(3, 0.0, 6.0, part("gpu_1", 1.0, 5.0, 9.0)), "starts at 5.0, before the task was decided"),
    "before its parent": (outcome(3, 0.0, 5.0, part("gpu_1", 1.0, 5.0, 9.0)), "ready at 5.0, before its arrival or a"),
    "before its arrival": (outcome(2, 1.0, 0.5, part("gpu_1", 1.0, 0.5, 4.5)), "ready at 0.5, before its arrival"),
    "decided late": (outcome(3, 0.0, 7.0, part("gpu_0", 1.0, 7.0, 11.0)), "although it was ready at 6.0"),
    "other arrival": (outcome(2, 0.5, 1.0, part("cpu_0", 1.0, 5.0, 13.0)), "arrival is 0.5, not 1.0"),
    "shares miss": (outcome(3, 0.0, 6.0, part("gpu_0", 0.75, 6.0, 9.0)), "shares add up to 0.75"),
    "share of zero": (outcome(3, 0.0, 6.0, part("gpu_0", 0.0, 6.0, 10.0)), "a part has share 0.0"),
    "ends before it starts": (outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 10.0, 6.0)), "before its start"),
    "two GPUs": (
        outcome(3, 0.0, 6.0, part("gpu_0", 0.5, 6.0, 8.0), part("gpu_1", 0.5, 6.0, 8.0)),
        "split over gpu_0, gpu_1: not one GPU and one CPU",
    ),
    "two nodes": (
        outcome(3, 0.0, 6.0, part("gpu_0", 0.5, 6.0, 8.0), part("cpu_1", 0.5, 6.0, 10.0)),
        "split over nodes 0 and 1",
    ),
    "less work": (outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 6.0, 9.0)), "has 4.0 s of work on gpu_0, but 3.0 s"),
    "lost without failure": (
        outcome(3, 0.0, 6.0, part("gpu_1", 1.0, 6.0, 7.0, lost=True), part("gpu_0", 1.0, 6.0, 10.0)),
        "lost although nothing failed",
    ),
    "failed for nothing": (outcome(3, 0.0, 6.0, failed=True), "failed without a reason"),
    "failed and alive": (outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 6.0, 10.0), failed=True), "parts that are not lost"),
    "waited": (
        replace(outcome(3, 0.0, 6.0, part("gpu_0", 1.0, 7.0, 11.0)), decided_time=7.0),
        "decided at 7.0 and overtaken 0 times, although it was ready at 6.0",
    ),
    "decided before it was ready": (replace(VALID[3], decided_time=5.0), "decided at 5.0, but ready at 6.0"),
    "overtaken by nobody": (replace(VALID[3], overtaken=1), "task 3 is overtaken 1 times, not 0 to 0 times"),
    "wrong finish": (replace(VALID[3], finish_time=11.0), "finish is 11.0, not the end of its last part"),
    "wrong energy": (replace(VALID[3], energy=201.0), "energy is 201.0 J, its parts used 200.0"),
    "wrong cost": (replace(VALID[3], cost=39.0), "cost is 39.0 $, its parts cost 40.0"),
    "wrong actual time": (replace(VALID[3], actual_time=5.0), "actual_time is 5.0, its parts took 4.0"),
    "CPU called GPU": (
        replace(VALID[2], parts=(replace(VALID[2].parts[0], gpu_id=3),)),
        "gpu_id 3 is recorded for cpu_0, a cpu",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_schedule_is_found(name: str) -> None:
    wrong, message = BROKEN[name]
    assert any(message in text for text in judge({wrong.task_id: wrong})), judge({wrong.task_id: wrong})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o[:-1], "task 3 has no outcome"),
        (lambda o: [*o, o[0]], "1 tasks have more than one outcome"),
        (lambda o: [*o, outcome(9, 0.0, 0.0, part("cpu_0", 1.0, 0.0, 8.0))], "task 9 has an outcome but was never"),
        (lambda o: [*o[:-1], outcome(3, 0.0, 6.0, part("tpu_0", 1.0, 6.0, 8.0))], "device tpu_0 does not exist"),
    ],
)
def test_every_task_exactly_once(change: Callable[[list[Outcome]], list[Outcome]], message: str) -> None:
    wrong = schedule_violations(TASKS, change(VALID), RULES)
    assert any(message in text for text in wrong), wrong


def test_served_in_order_of_decision() -> None:
    swapped = {
        1: outcome(1, 1.0, 1.0, part("gpu_0", 0.5, 4.0, 6.0), part("cpu_0", 0.5, 9.0, 13.0)),
        2: outcome(2, 1.0, 1.0, part("cpu_0", 1.0, 1.0, 9.0)),
        3: outcome(3, 0.0, 13.0, part("gpu_0", 1.0, 13.0, 17.0)),
    }
    assert judge(swapped) == ["cpu_0 serves task 2 before task 1, ready at the same time 1.0"]


def test_out_of_turn() -> None:
    tasks = [task(0, 0.0), task(1, 1.0)]
    late_first = [
        outcome(0, 0.0, 0.0, part("cpu_0", 1.0, 9.0, 17.0)),
        outcome(1, 1.0, 1.0, part("cpu_0", 1.0, 1.0, 9.0)),
    ]
    wrong = schedule_violations(tasks, late_first, RULES)
    assert "cpu_0 starts task 1 at 1.0, out of turn (its turn is at 17.0)" in wrong


def test_waiting_and_overtaking() -> None:
    """Task 2 goes first, then 3, which overtakes 1; 4 is decided together with 1, so who was first is not known."""
    rules = replace(RULES, waits=True)
    tasks = [task(0, 0.0), task(1, 1.0), task(2, 1.0), task(3, 2.0), task(4, 3.0)]

    def decided(task_id: int, ready: float, at: float, overtaken: int, *parts: PartRecord) -> Outcome:
        return replace(outcome(task_id, ready, ready, *parts), decided_time=at, overtaken=overtaken)

    good = [
        decided(0, 0.0, 0.0, 0, part("gpu_0", 1.0, 0.0, 4.0)),
        decided(1, 1.0, 12.0, 2, part("gpu_0", 1.0, 12.0, 16.0)),
        decided(2, 1.0, 4.0, 0, part("gpu_0", 1.0, 4.0, 8.0)),
        decided(3, 2.0, 8.0, 0, part("gpu_0", 1.0, 8.0, 12.0)),
        decided(4, 3.0, 12.0, 0, part("gpu_1", 1.0, 12.0, 16.0)),
    ]
    assert schedule_violations(tasks, good, rules, seconds) == []
    assert schedule_violations(tasks, [good[0], replace(good[1], overtaken=3), *good[2:]], rules, seconds) == []
    for count in (1, 4):
        wrong = schedule_violations(tasks, [good[0], replace(good[1], overtaken=count), *good[2:]], rules, seconds)
        assert wrong == [f"task 1 is overtaken {count} times, not 2 to 3 times"]
    late = schedule_violations(tasks, [*good[:3], replace(good[3], decided_time=7.0), good[4]], rules, seconds)
    assert late == [], "it may be decided for a busy device"
    idle = decided(4, 3.0, 11.0, 0, part("gpu_1", 1.0, 12.0, 16.0))
    wrong = schedule_violations(tasks, [*good[:4], idle], rules, seconds)
    assert "gpu_1 starts task 4 at 12.0, although it could at 11.0" in wrong
    turn = decided(1, 1.0, 5.0, 1, part("gpu_0", 1.0, 12.0, 16.0))
    assert "gpu_0 starts task 3 at 8.0, out of turn (its turn is at 16.0)" in schedule_violations(
        tasks, [good[0], turn, *good[2:]], rules, seconds
    )


def test_memory() -> None:
    fits = [outcome(0, 0.0, 0.0, part("gpu_0", 0.5, 0.0, 2.0), part("cpu_0", 0.5, 0.0, 4.0))]
    assert schedule_violations([task(0, 0.0, 200.0)], fits, RULES, seconds) == []
    assert schedule_violations([task(0, 0.0, 200.1)], fits, RULES, seconds) == [
        "task 0: 100.05 MB run on gpu_0, which has 100.0"
    ]


def test_failures_need_a_reason() -> None:
    failed = [outcome(0, 0.0, 0.0, failed=True)]
    big = [task(0, 0.0, 101.0)]
    assert schedule_violations(big, failed, replace(RULES, memory_policy="fail")) == []
    assert schedule_violations(big, failed, replace(RULES, devices=RULES.devices[1:2])) == []
    assert schedule_violations(big, failed, RULES) == ["task 0: failed without a reason"]
    assert schedule_violations([task(0, 0.0, 99.0)], failed, replace(RULES, memory_policy="fail")) != []


def test_children_of_the_failed_fail() -> None:
    tasks = [task(0, 0.0, 101.0), task(1, 0.0, parents=(0,))]
    rules = replace(RULES, memory_policy="fail")
    failed = outcome(0, 0.0, 0.0, failed=True)
    assert schedule_violations(tasks, [failed, outcome(1, 0.0, 0.0, failed=True)], rules) == []
    survivor = outcome(1, 0.0, 0.0, part("cpu_0", 1.0, 0.0, 8.0))
    assert schedule_violations(tasks, [failed, survivor], rules) == ["task 1: finished although a parent failed"]


def test_serial_split() -> None:
    serial, tasks = replace(RULES, split="serial"), [task(0, 0.0)]

    def split(cpu_start: float, actual: float) -> list[str]:
        made = outcome(0, 0.0, 0.0, part("gpu_0", 0.5, 0.0, 2.0), part("cpu_0", 0.5, cpu_start, cpu_start + 4.0))
        return schedule_violations(tasks, [replace(made, actual_time=actual)], serial, seconds)

    assert split(2.0, 6.0) == []
    assert "task 0: its CPU part starts at 1.0, before the GPU part ends at 2.0" in split(1.0, 6.0)
    assert split(3.0, 6.0) == ["cpu_0 starts task 0 at 3.0, although it could at 2.0"]
    assert split(2.0, 4.0) == ["task 0: actual_time is 4.0, its parts took 6.0"]


def test_penalty_stretches_concurrent_splits() -> None:
    tasks, rules = [task(0, 0.0)], replace(RULES, penalty=0.5)
    plain = [outcome(0, 0.0, 0.0, part("gpu_0", 0.5, 0.0, 2.0), part("cpu_0", 0.5, 0.0, 4.0))]
    stretched = [outcome(0, 0.0, 0.0, part("gpu_0", 0.5, 0.0, 3.0), part("cpu_0", 0.5, 0.0, 6.0))]
    assert schedule_violations(tasks, stretched, rules, seconds) == []
    assert len(schedule_violations(tasks, plain, rules, seconds)) == 2


def test_speed_changes() -> None:
    """4 s of work: 1 s at full speed, then at half speed; the other GPU fails at 3 and its task starts over."""
    rules = replace(RULES, changes=((1.0, "gpu_0", 0.5), (3.0, "gpu_1", 0.0)))
    tasks = [task(0, 0.0), task(1, 0.0)]
    slowed = outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 7.0))
    redone = outcome(1, 0.0, 3.0, part("gpu_1", 1.0, 0.0, 3.0, lost=True), part("cpu_0", 1.0, 3.0, 11.0))
    assert schedule_violations(tasks, [slowed, redone], rules, seconds) == []
    not_slowed = outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 4.0))
    assert schedule_violations(tasks, [not_slowed, redone], rules, seconds) == [
        "task 0 has 4.0 s of work on gpu_0, but 2.5 s were done"
    ]
    undead = outcome(1, 0.0, 0.0, part("gpu_1", 1.0, 0.0, 4.0))
    assert "task 1 runs on gpu_1 while it is down" in schedule_violations(tasks, [slowed, undead], rules, seconds)


def test_isolated() -> None:
    rules, tasks = replace(RULES, isolated=True), [task(0, 0.0), task(1, 1.0)]
    first = outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 4.0))
    assert schedule_violations(tasks, [first, outcome(1, 4.0, 4.0, part("gpu_1", 1.0, 4.0, 8.0))], rules) == []
    early = schedule_violations(tasks, [first, outcome(1, 1.0, 1.0, part("gpu_1", 1.0, 1.0, 5.0))], rules)
    assert early == ["task 1 is decided at 1.0, before the node is idle at 4.0"]
    late = schedule_violations(tasks, [first, outcome(1, 5.0, 5.0, part("gpu_1", 1.0, 5.0, 9.0))], rules)
    assert late == ["task 1 is decided at 5.0, although the node is idle from 4.0"]
    swapped = [
        outcome(1, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 4.0)),
        outcome(0, 4.0, 4.0, part("gpu_0", 1.0, 4.0, 8.0)),
    ]
    assert schedule_violations(tasks, swapped, rules) == [
        "task 1 is decided before task 0, which comes first in the stream"
    ]
    apart = [first, outcome(1, 2.0, 4.0, part("gpu_1", 1.0, 4.0, 8.0))]
    assert "arrives (isolated) at 2.0" in schedule_violations(tasks, apart, rules)[0]


def test_error_lists_violations() -> None:
    many = [task(i, 0.0) for i in range(30)]
    with pytest.raises(AssertionError, match=r"30 violations(.|\n)*task 19 has no outcome\n\.\.\. and 10 more"):
        assert_valid_schedule(many, [], RULES)


FAR = replace(
    RULES,
    devices=tuple(replace(device, bandwidth=10.0) for device in RULES.devices),
    network=5.0,
)
HANDED = [task(0, 0.0), Task(1, 1000.0, 0.5, 10.0, 0.0, 8.0, ((0, 20.0),))]  # type: ignore[arg-type]
MADE = outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.0, 4.0))


@pytest.mark.parametrize(
    ("child", "problem"),
    [
        (part("gpu_0", 1.0, 4.0, 7.0), None),
        (part("gpu_0", 1.0, 4.0, 8.0), "has 3.0 s of work on gpu_0, but 4.0 s were done"),
        (part("cpu_0", 1.0, 6.0, 14.0), None),
        (part("cpu_0", 1.0, 4.0, 12.0), "cpu_0 starts task 1 at 4.0, but its parents' data is there at 6.0"),
        (part("cpu_0", 1.0, 7.0, 15.0), "cpu_0 starts task 1 at 7.0, but its parents' data is there at 6.0"),
        (part("gpu_1", 1.0, 6.0, 10.0), None),
        (part("cpu_1", 1.0, 10.0, 18.0), None),
        (part("cpu_1", 1.0, 6.0, 14.0), "cpu_1 starts task 1 at 6.0, but its parents' data is there at 10.0"),
    ],
)
def test_data(child: PartRecord, problem: str | None) -> None:
    """20 MB from gpu_0: 2 s over its link, 4 s more to another node; 10 MB of memory save 1 s where they were made."""
    found = schedule_violations(HANDED, [MADE, outcome(1, 0.0, 4.0, child)], FAR, seconds)
    assert len(found) == (problem is not None)
    assert all(problem in text for text in found if problem)


def test_data_enters_a_gpu_where_times_are_of_computing_alone() -> None:
    rules, late = replace(FAR, moves_memory=False), outcome(1, 0.0, 4.0, part("gpu_1", 1.0, 8.0, 12.0))
    assert schedule_violations(HANDED, [MADE, late], rules) == []
    early = outcome(1, 0.0, 4.0, part("gpu_1", 1.0, 6.0, 10.0))
    assert "data is there at 8.0" in schedule_violations(HANDED, [MADE, early], rules)[0]


MEASURED = replace(RULES, waits=True, clock=0.01)
REAL = [
    replace(outcome(0, 0.0, 0.0, part("gpu_0", 1.0, 0.1, 3.7)), decided_time=0.05, energy=float("nan")),
    replace(outcome(1, 1.0, 1.0, part("gpu_0", 0.5, 4.0, 6.5), part("cpu_0", 0.5, 1.2, 5.0)), energy=7.0),
    replace(outcome(2, 1.0, 1.5, part("cpu_0", 1.0, 1.1, 1.15, lost=True), part("cpu_0", 1.0, 5.2, 9.0)), energy=3.0),
    replace(outcome(3, 0.0, 6.6, part("gpu_0", 1.0, 6.7, 7.0, lost=True), failed=True), finish_time=7.1, energy=1.0),
]
"""The same tasks on a real node: they take what they take, one lost its worker and began again, one raised."""


def judge_real(changed: dict[int, Outcome], *accounted: int) -> list[str]:
    outcomes = [changed.get(o.task_id, o) for o in REAL]
    return schedule_violations(TASKS, outcomes, replace(MEASURED, accounted=frozenset(accounted)))


def test_a_schedule_by_the_clock_may_take_what_it_takes() -> None:
    assert judge_real({}, 3) == []
    assert schedule_violations(TASKS, REAL, RULES) != []


REAL_BROKEN: dict[str, tuple[Outcome, str]] = {
    "overlap": (
        replace(REAL[2], parts=(REAL[2].parts[0], part("cpu_0", 1.0, 4.9, 9.0)), actual_time=4.1, cost=8.3),
        "cpu_0 runs tasks 1 and 2 at once",
    ),
    "before it was decided": (replace(REAL[0], decided_time=0.2), "before the task was decided at 0.2"),
    "out of turn": (
        replace(REAL[0], decided_time=0.0, parts=(part("gpu_0", 1.0, 6.5, 10.1),), finish_time=10.1),
        "turn",
    ),
    "before its parent": (replace(REAL[3], ready_time=6.4), "ready at 6.4, before its arrival or a parent's finish"),
    "shares": (replace(REAL[2], parts=(part("cpu_0", 0.9, 5.2, 9.0),), cost=7.6), "its shares add up to 0.9"),
    "cost": (replace(REAL[0], cost=1.0), "cost is 1.0 $"),
    "energy": (replace(REAL[0], energy=-1.0), "energy is -1.0 J"),
    "time": (replace(REAL[0], actual_time=3.0), "actual_time is 3.0"),
    "finish": (replace(REAL[0], finish_time=3.8), "finish is 3.8"),
}


@pytest.mark.parametrize("case", REAL_BROKEN)
def test_what_is_wrong_by_the_clock_is_found(case: str) -> None:
    changed, said = REAL_BROKEN[case]
    assert any(said in line for line in judge_real({changed.task_id: changed}, 3)), judge_real(
        {changed.task_id: changed}, 3
    )


def test_failures_by_the_clock_have_reasons() -> None:
    assert judge_real({}) == ["task 3: failed without a reason"]
    assert judge_real({}, 2, 3) == ["task 2 finished, but somebody says why it failed"]
    assert "failed without a reason" not in judge_real({}, 3)


def test_who_was_overtaken_counts_by_the_clock_too() -> None:
    kept = [each for each in REAL if each.task_id < 2]
    tasks = TASKS[:2]
    assert schedule_violations(tasks, kept, MEASURED) == []
    overtaken = [kept[0], replace(kept[1], overtaken=1)]
    assert schedule_violations(tasks, overtaken, MEASURED) == ["task 1 is overtaken 1 times, not 0 to 0 times"]
