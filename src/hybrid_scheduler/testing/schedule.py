"""A judge of schedules that shares no code with the simulator: plain Python over tasks, outcomes and plain facts.

It knows the rules of SPEC sections 2 and 3 (one home for each rule below) and nothing of how the simulator works, so a
mistake there cannot hide here. `schedule_violations` lists what is wrong; `assert_valid_schedule` raises.

Schedules of real nodes are judged by the same rules (`Rules.clock`), but for what no rule can know of a machine: how
long work takes, how many joules it needs, and what happens between a decision and the start of its work.
"""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby, pairwise

from hybrid_scheduler.model.outcome import Outcome, PartRecord
from hybrid_scheduler.model.task import Task

TOLERANCE = 1e-9
SHOWN = 20
"""Violations an error message spells out."""

Seconds = Callable[[int, str, float, float], float]
"""Seconds a share of a task takes on a device at normal speed, without penalty, when so many megabytes of what the
whole task must move there are there already: ``(task id, device, share, MB)``."""


@dataclass(frozen=True, slots=True)
class PlainDevice:
    """What a schedule is judged by: the public figures of one device; `bandwidth` is that of its own link, in MB/s."""

    name: str
    kind: str
    node: int = 0
    memory_mb: float = math.inf
    watts: float = 0.0
    dollars_per_second: float = 0.0
    bandwidth: float = math.inf


@dataclass(frozen=True, slots=True)
class Rules:
    """The node a schedule was made for.

    Attributes:
        devices: Every device.
        split: `concurrent` or `serial`.
        penalty: Both parts of a concurrent split are stretched by 1 plus this.
        memory_policy: `fallback` or `fail`.
        changes: What happened to the devices, as (time, device, speed factor); 0 is a failure.
        isolated: Every task meets an idle node.
        waits: Tasks may wait before they are decided, so a device may idle although a task is ready for it, and tasks
            may overtake each other; else each is decided when it is ready.
        network: MB/s between two nodes.
        moves_memory: The way of a task's memory to a GPU is part of its seconds there; else they are of computing.
        clock: The schedule is of a real node, whose clocks may be apart by so many seconds; None of a simulated one.
        accounted: On a real node, the tasks of which somebody said why they failed.
    """

    devices: tuple[PlainDevice, ...]
    split: str = "concurrent"
    penalty: float = 0.05
    memory_policy: str = "fallback"
    changes: tuple[tuple[float, str, float], ...] = ()
    isolated: bool = False
    waits: bool = False
    network: float = math.inf
    moves_memory: bool = True
    clock: float | None = None
    accounted: AbstractSet[int] = frozenset()

    @property
    def measured(self) -> bool:
        """Whether times are those of a clock."""
        return self.clock is not None

    @property
    def slack(self) -> float:
        """By how many seconds times may contradict each other."""
        return self.clock or 0.0


@dataclass(frozen=True, slots=True)
class _Schedule:
    rules: Rules
    tasks: dict[int, Task]
    outcomes: dict[int, Outcome]
    device: dict[str, PlainDevice]
    times_of_change: tuple[float, ...]


def assert_valid_schedule(
    tasks: Iterable[Task], outcomes: Iterable[Outcome], rules: Rules, seconds: Seconds | None = None
) -> None:
    """Raise AssertionError with everything that is wrong with a schedule; arguments as `schedule_violations`."""
    wrong = schedule_violations(tasks, outcomes, rules, seconds)
    more = f"\n... and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    if wrong:
        raise AssertionError(f"{len(wrong)} violations in the schedule:\n" + "\n".join(wrong[:SHOWN]) + more)


def schedule_violations(
    tasks: Iterable[Task], outcomes: Iterable[Outcome], rules: Rules, seconds: Seconds | None = None
) -> list[str]:
    """Everything that is wrong with a schedule, one line each; empty for a valid one.

    Args:
        tasks: All tasks of the run.
        outcomes: What became of them, at the end of the run.
        rules: The node.
        seconds: The realised times; without them it is not checked that every part ran as long as its work takes.
    """
    by_id = {task.task_id: task for task in tasks}
    outcome_list = list(outcomes)
    by_task = {outcome.task_id: outcome for outcome in outcome_list}
    wrong = [f"task {i} has no outcome" for i in by_id if i not in by_task]
    wrong += [f"task {i} has an outcome but was never given" for i in by_task if i not in by_id]
    if len(by_task) < len(outcome_list):
        wrong.append(f"{len(outcome_list) - len(by_task)} tasks have more than one outcome")
    device = {d.name: d for d in rules.devices}
    unknown = {p.device for o in outcome_list for p in o.parts} - set(device)
    wrong += [f"device {name} does not exist" for name in sorted(unknown)]
    if wrong:
        return wrong
    schedule = _Schedule(rules, by_id, by_task, device, tuple(time for time, _, _ in rules.changes))
    finished = {i for i, outcome in by_task.items() if not outcome.failed}
    wrong += [f"task {i} finished, but somebody says why it failed" for i in sorted(finished & rules.accounted)]
    for outcome in by_task.values():
        wrong += (f"task {outcome.task_id}: {text}" for text in _one_task(schedule, outcome))
    wrong += _queues(schedule)
    began_again = any(part.lost for outcome in outcome_list for part in outcome.parts)
    if not (rules.changes or (rules.measured and began_again)):
        wrong += _overtaken(schedule)
    if rules.isolated:
        wrong += _one_at_a_time(schedule)
    if seconds is not None:
        wrong += _work(schedule, seconds)
    return wrong


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def _live(outcome: Outcome) -> list[PartRecord]:
    return [part for part in outcome.parts if not part.lost]


def _one_task(schedule: _Schedule, outcome: Outcome) -> Iterator[str]:
    live = _live(outcome)
    for part in outcome.parts:
        if not 0.0 < part.share <= 1.0 + TOLERANCE:
            yield f"a part has share {part.share}"
        if not part.end >= part.start:
            yield f"a part ends at {part.end}, before its start at {part.start}"
        if part.lost and not (schedule.rules.changes or schedule.rules.measured):
            yield f"a part on {part.device} was lost although nothing failed"
    for part in live:
        if part.start < outcome.decided_time - schedule.rules.slack:
            yield f"a part starts at {part.start}, before the task was decided at {outcome.decided_time}"
    yield from _readiness(schedule, outcome)
    yield from _wait(schedule, outcome)
    yield from _bill(schedule, outcome)
    if outcome.failed:
        yield from _failure(schedule, outcome, live)
        return
    if not live or outcome.finish_time != max(part.end for part in live):
        yield f"finish is {outcome.finish_time}, not the end of its last part"
    if abs(sum(part.share for part in live) - 1.0) > 2 * TOLERANCE:
        yield f"its shares add up to {sum(part.share for part in live)}"
    yield from _places(schedule, outcome, live)


def _readiness(schedule: _Schedule, outcome: Outcome) -> Iterator[str]:
    """Ready means arrived and all parents finished; not earlier, and not later unless it had to start over."""
    task, rules = schedule.tasks[outcome.task_id], schedule.rules
    parents = [schedule.outcomes[i] for i in task.dependencies]
    if any(parent.failed for parent in parents) and not outcome.failed:
        yield "finished although a parent failed"
    earliest = max([outcome.arrival_time, *(parent.finish_time for parent in parents)])
    if outcome.ready_time < earliest - rules.slack:
        yield f"ready at {outcome.ready_time}, before its arrival or a parent's finish at {earliest}"
    if rules.isolated:
        if outcome.arrival_time != outcome.ready_time and not any(part.lost for part in outcome.parts):
            yield f"ready at {outcome.ready_time}, but it arrives (isolated) at {outcome.arrival_time}"
        return
    if outcome.arrival_time != task.arrival_time:
        yield f"arrival is {outcome.arrival_time}, not {task.arrival_time}"
    if rules.measured:
        return
    if outcome.ready_time > earliest and outcome.ready_time not in schedule.times_of_change:
        yield f"decided at {outcome.ready_time}, although it was ready at {earliest}"


def _wait(schedule: _Schedule, outcome: Outcome) -> Iterator[str]:
    """Decided after it is ready and before it ends; at once unless tasks may wait, and then nobody is overtaken."""
    ready, decided = outcome.ready_time, outcome.decided_time
    if not ready <= decided <= outcome.finish_time:
        yield f"decided at {decided}, but ready at {ready} and finished at {outcome.finish_time}"
    late = decided > ready and not schedule.rules.measured
    if not schedule.rules.waits and (late or outcome.overtaken != 0):
        yield f"decided at {decided} and overtaken {outcome.overtaken} times, although it was ready at {ready}"


def _overtaken(schedule: _Schedule) -> Iterator[str]:
    """Overtaken by every task that was ready later, by time and then number, and decided before.

    Outcomes do not say who came first of those decided at one moment, nor whether anybody decided one that failed.
    """
    decided = sorted(schedule.outcomes.values(), key=lambda o: o.decided_time)
    surely: list[tuple[float, int]] = []
    perhaps: list[tuple[float, int]] = []
    for _, group in groupby(decided, key=lambda o: o.decided_time):
        together = list(group)
        for outcome in together:
            insort(perhaps, (outcome.ready_time, outcome.task_id))
        for outcome in together:
            turn = (outcome.ready_time, outcome.task_id)
            least, most = len(surely) - bisect(surely, turn), len(perhaps) - bisect(perhaps, turn)
            if not least <= outcome.overtaken <= most:
                yield f"task {outcome.task_id} is overtaken {outcome.overtaken} times, not {least} to {most} times"
        for outcome in together:
            if outcome.parts:
                insort(surely, (outcome.ready_time, outcome.task_id))


def _data(schedule: _Schedule, outcome: Outcome, name: str) -> tuple[float, float]:
    """When the data of a task's parents is all on a device, and how many megabytes of it were made there.

    A part of a parent has its share of what the parent hands over. It leaves a GPU over that GPU's link, crosses the
    network between nodes, and enters a GPU over its link unless the task's own seconds have that way in them.
    """
    task, rules, target = schedule.tasks[outcome.task_id], schedule.rules, schedule.device[name]
    there, resident = 0.0, 0.0
    for parent, megabytes in zip(task.dependencies, task.dependency_mb, strict=False):
        made = schedule.outcomes[parent]
        for part in _live(made):
            source = schedule.device[part.device]
            if part.device == name:
                resident += part.share * megabytes
                continue
            seconds = 1.0 / source.bandwidth if source.kind == "gpu" else 0.0
            seconds += 1.0 / rules.network if source.node != target.node else 0.0
            seconds += 1.0 / target.bandwidth if target.kind == "gpu" and not rules.moves_memory else 0.0
            there = max(there, made.finish_time + part.share * megabytes * seconds)
    return there, resident


def _failure(schedule: _Schedule, outcome: Outcome, live: list[PartRecord]) -> Iterator[str]:
    """A failed task has no live part, and a reason: a parent, memory, or no device left."""
    task, rules = schedule.tasks[outcome.task_id], schedule.rules
    if live:
        yield f"failed, but has {len(live)} parts that are not lost"
    if outcome.finish_time < outcome.ready_time:
        yield f"failed at {outcome.finish_time}, before it was ready at {outcome.ready_time}"
    too_big = any(d.kind == "gpu" and d.memory_mb < task.memory_required / task.width for d in rules.devices)
    has_cpus = sum(d.kind == "cpu" for d in rules.devices) >= task.width
    orphan = any(schedule.outcomes[i].failed for i in task.dependencies)
    said = outcome.task_id in rules.accounted
    if not (orphan or said or rules.changes or (too_big and (rules.memory_policy == "fail" or not has_cpus))):
        yield "failed without a reason"


def _places(schedule: _Schedule, outcome: Outcome, live: list[PartRecord]) -> Iterator[str]:
    """A split is one GPU and one CPU of a node; the GPU's share of the memory fits; serial parts follow each other.

    A wide task has a gang.
    """
    task = schedule.tasks[outcome.task_id]
    devices = [schedule.device[part.device] for part in live]
    for part, device in zip(live, devices, strict=True):
        if (part.gpu_id is not None) != (device.kind == "gpu"):
            yield f"gpu_id {part.gpu_id} is recorded for {device.name}, a {device.kind}"
        needed = part.share * task.memory_required
        if device.kind == "gpu" and needed > device.memory_mb:
            yield f"{needed} MB run on {device.name}, which has {device.memory_mb}"
    if task.width > 1:
        yield from _gang(task.width, live, devices)
        return
    if len(live) == 1:
        return
    if sorted(d.kind for d in devices) != ["cpu", "gpu"]:
        yield f"split over {', '.join(d.name for d in devices)}: not one GPU and one CPU"
    elif devices[0].node != devices[1].node:
        yield f"split over nodes {devices[0].node} and {devices[1].node}"
    elif schedule.rules.split == "serial":
        gpu, cpu = live if devices[0].kind == "gpu" else reversed(live)
        if cpu.start < gpu.end:
            yield f"its CPU part starts at {cpu.start}, before the GPU part ends at {gpu.end}"


def _gang(width: int, live: list[PartRecord], devices: list[PlainDevice]) -> Iterator[str]:
    """As many devices of one kind as the task is wide, equal shares, one start and one end."""
    if len({d.name for d in devices}) != width or len(live) != width:
        yield f"its width is {width}, but it runs on {', '.join(d.name for d in devices)}"
    if len({d.kind for d in devices}) > 1:
        yield f"its gang has unlike kinds: {', '.join(d.name for d in devices)}"
    if any(not _close(part.share * width, 1.0) for part in live):
        yield f"the shares of its gang are {[part.share for part in live]}, not 1/{width} each"
    if len({part.start for part in live}) > 1 or len({part.end for part in live}) > 1:
        yield "the parts of its gang do not start and end together"


def _bill(schedule: _Schedule, outcome: Outcome) -> Iterator[str]:
    """Busy seconds are paid, in vain or not; execution time is that of the parts that counted."""
    dollars = sum(schedule.device[p.device].dollars_per_second * (p.end - p.start) for p in outcome.parts)
    joules = sum(schedule.device[p.device].watts * (p.end - p.start) for p in outcome.parts)
    if schedule.rules.measured:  # not a number where the machine does not tell
        if outcome.energy < 0.0:
            yield f"energy is {outcome.energy} J"
    elif not _close(outcome.energy, joules):
        yield f"energy is {outcome.energy} J, its parts used {joules}"
    if not _close(outcome.cost, dollars):
        yield f"cost is {outcome.cost} $, its parts cost {dollars}"
    spans = [part.end - part.start for part in _live(outcome)]
    one_by_one = schedule.rules.split == "serial" and schedule.tasks[outcome.task_id].width == 1
    expected = sum(spans) if one_by_one else max(spans, default=0.0)
    if not _close(outcome.actual_time, expected):
        yield f"actual_time is {outcome.actual_time}, its parts took {expected}"


def _queues(schedule: _Schedule) -> Iterator[str]:
    """Each device does one thing at a time, first decided first served, and never idles while a part waits for it.

    Only the data of the first in turn may keep it idle; the devices of a gang wait for the last of them.
    """
    queue: dict[str, list[tuple[float, float, float, int, float, float]]] = {name: [] for name in schedule.device}
    busy: dict[str, list[tuple[float, float, int]]] = {name: [] for name in schedule.device}
    freed: dict[str, set[float]] = {name: set() for name in schedule.device}
    for outcome in schedule.outcomes.values():
        live = _live(outcome)
        gpu_end = max((p.end for p in live if schedule.device[p.device].kind == "gpu"), default=0.0)
        for part in outcome.parts:
            if part.end > part.start:
                busy[part.device].append((part.start, part.end, outcome.task_id))
            if part.lost:
                freed[part.device].add(part.end)
                continue
            narrow = schedule.tasks[outcome.task_id].width == 1
            waits = narrow and schedule.rules.split == "serial" and schedule.device[part.device].kind == "cpu"
            after = gpu_end if waits else 0.0
            there = _data(schedule, outcome, part.device)[0]
            if not narrow:
                after, there = max(_data(schedule, outcome, each.device)[0] for each in live), 0.0
            queue[part.device].append((outcome.decided_time, part.start, part.end, outcome.task_id, after, there))
    for name, spans in busy.items():
        spans.sort()
        for (_, end, one), (start, _, other) in pairwise(spans):
            if start < end - schedule.rules.slack:
                yield f"{name} runs tasks {one} and {other} at once, at {start}"
    measured, slack = schedule.rules.measured, schedule.rules.slack
    by_number = not (schedule.rules.changes or schedule.rules.waits or measured)
    idled: dict[int, int] = {}
    for name, parts in queue.items():
        parts.sort()
        free, last = 0.0, (0.0, -1)
        for decided, start, end, task_id, after, there in parts:
            expected = max(decided, free, after)
            if schedule.tasks[task_id].width > 1 and _close(start, expected):
                pass
            elif there > expected:
                if not _close(start, there) and start not in freed[name]:
                    yield f"{name} starts task {task_id} at {start}, but its parents' data is there at {there}"
            elif start < expected - slack and not _close(start, there):
                yield f"{name} starts task {task_id} at {start}, out of turn (its turn is at {expected})"
            elif start > expected and start not in freed[name] and not measured:
                idled[task_id] = idled.get(task_id, 0) + 1
                if idled[task_id] == schedule.tasks[task_id].width:
                    yield f"{name} starts task {task_id} at {start}, although it could at {expected}"
            if by_number and last[0] == decided and last[1] > task_id:
                yield f"{name} serves task {last[1]} before task {task_id}, ready at the same time {decided}"
            free, last = max(free, end), (decided, task_id)


def _one_at_a_time(schedule: _Schedule) -> Iterator[str]:
    """Isolated: in the order of the stream (parents first), each task is decided when the one before it has ended."""
    order = sorted(schedule.outcomes.values(), key=lambda o: (o.ready_time, o.finish_time))
    ended = 0.0
    for outcome in order:
        if outcome.ready_time < ended:
            yield f"task {outcome.task_id} is decided at {outcome.ready_time}, before the node is idle at {ended}"
        elif outcome.ready_time > ended and outcome.ready_time not in schedule.times_of_change:
            yield f"task {outcome.task_id} is decided at {outcome.ready_time}, although the node is idle from {ended}"
        ended = max(ended, outcome.finish_time)
    if any(task.dependencies for task in schedule.tasks.values()):
        return
    stream = sorted(schedule.tasks.values(), key=lambda t: (t.arrival_time, t.task_id))
    for one, other in pairwise(stream):
        if schedule.outcomes[other.task_id].ready_time < schedule.outcomes[one.task_id].ready_time:
            yield f"task {other.task_id} is decided before task {one.task_id}, which comes first in the stream"


def _work(schedule: _Schedule, seconds: Seconds) -> Iterator[str]:
    """Every part that counts ran for exactly its work at the speed its device had; one that was lost, for no more."""
    speeds: dict[str, list[tuple[float, float]]] = {name: [(0.0, 1.0)] for name in schedule.device}
    for time, name, speed in sorted(schedule.rules.changes, key=lambda change: change[0]):
        speeds[name].append((time, speed))
    concurrent = schedule.rules.split == "concurrent"
    for outcome in schedule.outcomes.values():
        live = _live(outcome)
        if schedule.tasks[outcome.task_id].width > 1:
            yield from _gang_work(schedule, outcome, live, speeds, seconds)
            continue
        stretch = 1.0 + schedule.rules.penalty if concurrent and len(live) == 2 else 1.0
        for part in live:
            resident = min(_data(schedule, outcome, part.device)[1], schedule.tasks[outcome.task_id].memory_required)
            work = seconds(outcome.task_id, part.device, part.share, resident) * stretch
            done, slack = 0.0, TOLERANCE * seconds(outcome.task_id, part.device, part.share, 0.0) * stretch
            steps = [*speeds[part.device], (math.inf, 0.0)]
            for (begin, speed), (stop, _) in pairwise(steps):
                span = min(part.end, stop) - max(part.start, begin)
                if span > 0.0:
                    done += span * speed
                    slack += 1e-15 * part.end * speed
                    if speed == 0.0:
                        yield f"task {outcome.task_id} runs on {part.device} while it is down"
            if abs(done - work) > slack:
                yield f"task {outcome.task_id} has {work} s of work on {part.device}, but {done} s were done"


def _gang_work(
    schedule: _Schedule,
    outcome: Outcome,
    live: list[PartRecord],
    speeds: dict[str, list[tuple[float, float]]],
    seconds: Seconds,
) -> Iterator[str]:
    """A gang is in step: at every moment it is as fast as the slowest of its devices lets it be."""
    if not live:
        return
    begin, end = live[0].start, live[0].end
    moments = {time for part in live for time, _ in speeds[part.device] if begin < time < end}
    done = 0.0
    for start, stop in pairwise(sorted({begin, end, *moments})):
        needed = 0.0
        for part in live:
            speed = [factor for time, factor in speeds[part.device] if time <= start][-1]
            if speed == 0.0:
                yield f"task {outcome.task_id} runs on {part.device} while it is down"
                return
            resident = min(_data(schedule, outcome, part.device)[1], schedule.tasks[outcome.task_id].memory_required)
            needed = max(needed, seconds(outcome.task_id, part.device, 1.0, resident) / speed)
        done += (stop - start) / needed
    if abs(done - 1.0) > TOLERANCE:
        yield f"task {outcome.task_id}: {done} of the work of its gang was done, not all of it"
