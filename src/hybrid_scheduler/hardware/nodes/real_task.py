"""What a real node remembers of a task and its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybrid_scheduler.hardware.nodes.lanes import Work
from hybrid_scheduler.model.decision import Part
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch, PartRecord
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.physics.world import World


@dataclass(slots=True, eq=False)
class RealPart:
    """A part of a task, queued on a device, running there, or ended.

    Attributes:
        owner: Whose it is.
        device: Row of the device.
        begin: Where its share of the work begins.
        share: How much of the task.
        expected: Seconds the scheduler expected.
        sent: When its lane got it; not a number before.
        start: When it began to run, as far as the lane told.
        end: When it ended.
        joules: What it took; not a number where nobody knows.
        lost: Whether it was in vain.
        ended: Whether it has ended.
    """

    owner: RealTask
    device: int
    begin: float
    share: float
    expected: float
    sent: float = math.nan
    start: float = math.nan
    end: float = math.nan
    joules: float = math.nan
    lost: bool = False
    ended: bool = False

    @property
    def is_sent(self) -> bool:
        """Whether its lane has it, or had it."""
        return not math.isnan(self.sent)


@dataclass(slots=True, eq=False)
class ShownTimes:
    """What a scheduler is shown of the times of a task.

    Attributes:
        number: How often times had been looked up anew before.
        times: `FIXED` and `SHARED` seconds per device.
        least: Seconds on the device where they are least.
        log: The logarithm of that, of a nanosecond at least.
        unknown: Whether nothing is known of some device.
        later: What the same tasks are shown since times were looked up anew.
    """

    number: int
    times: FloatArray
    least: float
    log: float
    unknown: bool
    later: ShownTimes | None = None


@dataclass(slots=True, eq=False)
class RealTask:
    """A task on its way through a real node.

    Attributes:
        task: The task.
        shown: The task as its scheduler may see it.
        work: What it does.
        limit: Seconds after which a part counts as hung.
        ready: When it could be decided, the last time; not a number before.
        decided: When it was.
        number: Its place in the waiting room's order of age.
        expected: Seconds it is expected to take where that is least.
        overtaken: How often others were started before it.
        place: Where its figures are while it waits (`RoomLists`).
        shown_times: What its scheduler was shown of its times; None when that is to be looked up anew.
        losses: How often it lost a part with its lane.
        excluded: Hardware whose memory is too small for it.
        parts: Every part it ever had.
        placed: How many of the last belong to the present decision.
        parents: The tasks it waits for.
        outcome: What came of it; None until then.
        value: The result of its work.
        error: Why it failed.
    """

    task: Task
    shown: Task
    work: Work
    limit: float = math.inf
    ready: float = math.nan
    decided: float = 0.0
    number: int = -1
    expected: float = math.inf
    overtaken: int = 0
    place: int = -1
    shown_times: ShownTimes | None = None
    losses: int = 0
    excluded: frozenset[str] = frozenset()
    parts: list[RealPart] = field(default_factory=list)
    placed: int = 0
    parents: frozenset[RealTask] = frozenset()
    outcome: Outcome | None = None
    value: Any = None
    error: BaseException | None = None

    @property
    def current(self) -> list[RealPart]:
        """The parts of the present decision."""
        return self.parts[len(self.parts) - self.placed :]

    @property
    def failed_parent(self) -> RealTask | None:
        """A task it waits for, or waited for, that has failed; None when there is none."""
        return next((parent for parent in self.parents if parent.error is not None), None)

    def settle(
        self, now: float, names: Sequence[str], prices: Sequence[float], gpu_ids: Sequence[int | None]
    ) -> Outcome:
        """The outcome of a task that is over: the lane's times, the machine's joules, the price of busy seconds.

        A part in vain that still runs is not counted; what it takes nobody knows yet, so the joules are not known then.
        A task that is given up before it arrives ends when it would have arrived.
        """
        now = max(now, self.task.arrival_time)
        runs_on = any(part.is_sent and not part.ended for part in self.parts)
        ran = [part for part in self.parts if part.end >= part.start]
        kept = [part for part in ran if not part.lost]
        failed = self.error is not None
        self.outcome = Outcome(
            task_id=self.task.task_id,
            arrival_time=self.task.arrival_time,
            ready_time=now if math.isnan(self.ready) else self.ready,
            decided_time=self.decided if self.parts else now,
            finish_time=now if failed else max(part.end for part in kept),
            actual_time=0.0 if failed else max(part.end - part.start for part in kept),
            energy=math.nan if runs_on else sum(part.joules for part in ran),
            cost=sum(prices[part.device] * (part.end - part.start) for part in ran),
            failed=failed,
            overtaken=self.overtaken,
            parts=tuple(
                PartRecord(
                    names[part.device],
                    gpu_ids[part.device],
                    part.share,
                    part.start,
                    part.end,
                    part.expected,
                    part.lost or failed,
                )
                for part in ran
            ),
        )
        return self.outcome


class PartsById(Mapping[int, tuple[Part, ...]]):
    """Where tasks were placed, by id.

    Args:
        tasks: The tasks.
    """

    def __init__(self, tasks: Mapping[int, RealTask]) -> None:
        self._tasks = tasks

    def __getitem__(self, task_id: int) -> tuple[Part, ...]:
        return tuple(Part(part.device, part.share, part.expected) for part in self._tasks[task_id].current)

    def __iter__(self) -> Iterator[int]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def outcome_batch(outcomes: Sequence[Outcome], world: World, least_seconds: FloatArray | None = None) -> OutcomeBatch:
    """Outcomes of a real node as columns; joules that nobody measured are not a number."""
    cluster, physics = world.cluster, world.physics
    rows = {name: row for row, name in enumerate(cluster.names)}
    parts = [(position, part) for position, outcome in enumerate(outcomes) for part in outcome.parts]

    def column(name: str) -> FloatArray:
        return np.array([getattr(outcome, name) for outcome in outcomes], dtype=np.float64)

    def part_column(name: str) -> FloatArray:
        return np.array([getattr(part, name) for _, part in parts], dtype=np.float64)

    return OutcomeBatch(
        np.array([outcome.task_id for outcome in outcomes], dtype=np.int64),
        column("arrival_time"),
        column("ready_time"),
        column("decided_time"),
        column("finish_time"),
        column("actual_time"),
        column("energy"),
        column("cost"),
        np.array([outcome.failed for outcome in outcomes], dtype=np.bool_),
        np.array([outcome.overtaken for outcome in outcomes], dtype=np.int64),
        np.array([position for position, _ in parts], dtype=np.int64),
        np.array([rows[part.device] for _, part in parts], dtype=np.int64),
        part_column("share"),
        part_column("start"),
        part_column("end"),
        part_column("expected"),
        np.array([part.lost for _, part in parts], dtype=np.bool_),
        cluster.names,
        cluster.gpu_id,
        cluster.column("idle_watts"),
        physics.idle_price(cluster),
        least_seconds=least_seconds,
    )
