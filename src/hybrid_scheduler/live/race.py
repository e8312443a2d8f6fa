"""What a live run asks of its race, whether nodes are simulated or real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.engine.live_data import Advance, Placement, WaitingTask, Waits
from hybrid_scheduler.model.task import Dependency, FloatArray, Task, TaskBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler


class Stream(Protocol):
    """Where a race's tasks come from."""

    def next_arrival(self) -> float:
        """When the next task arrives."""

    def take(self, until: float, most: int) -> TaskBatch | None:
        """Add what arrives up to a time to the race, at most so many tasks; returns them, None when nothing does."""

    def stand_still(self, until: float) -> None:
        """Let the stream go on at a time: the gap before the next task begins anew."""


class Race(Protocol):
    """Several schedulers side by side on a stream that does not end; `LiveRace` says what each word means."""

    world: World
    out: dict[str, str]

    @property
    def contestants(self) -> Mapping[str, Driver[Any]]:
        """Everybody by name, also those who are out."""

    @property
    def now(self) -> float:
        """How far the race has come, in seconds of its nodes; the furthest of the clocks where each has his own."""

    @property
    def at_rest(self) -> bool:
        """Whether it can stand still now, with nothing that must come to its end first."""

    @property
    def at_once(self) -> bool:
        """Whether to go on without a pause: it waits by itself where there is nothing to do, or never has to."""

    @property
    def lately(self) -> float:
        """Over so many seconds of the clock rates are told; each scheduler has raced for some of them."""

    @property
    def turn(self) -> str | None:
        """Whose turn it is; None where all race at the same time, and between two turns."""

    def clock_of(self, name: str) -> float:
        """What time it is for one scheduler."""

    def raced_seconds(self) -> dict[str, float]:
        """For how many seconds each scheduler's node has been racing; it stands still while others have their turn."""

    def replace(self, name: str, scheduler: Scheduler) -> None:
        """Let another take a scheduler's place: the same with other settings."""

    def go_on(self, stream: Stream, most: int) -> Advance:
        """Race a little, as far as about so many tasks arrive or finish; returns soon."""

    def keep_time(self, racing: bool) -> bool:
        """Let the clock go while the run does; returns whether it has just begun to."""

    def pace(self, speed: float, flat_out: bool) -> None:
        """Simulated seconds per second of the clock, or as fast as can be."""

    def finish(self, seconds: float) -> Iterator[Advance]:
        """Let what has arrived finish, for at most so many seconds of the clock."""

    def close(self) -> None:
        """The run is over."""

    def add(self, tasks: TaskBatch, parents: Mapping[int, Sequence[Dependency]] = ...) -> None:
        """See `LiveRace.add`."""

    def submit(
        self, tasks: Sequence[Task], parents: Mapping[int, Sequence[Dependency]] = ...
    ) -> list[dict[str, Placement | Waits | None]]:
        """See `LiveRace.submit`."""

    def give_up(self, name: str, reason: str, now: float | None = None) -> int:
        """See `LiveRace.give_up`."""

    def take_out(self, name: str, reason: str, now: float | None = None) -> None:
        """See `LiveRace.take_out`."""

    def unfinished(self) -> dict[str, int]:
        """See `LiveRace.unfinished`."""

    def stuck(self, name: str, horizon: float) -> int:
        """See `LiveRace.stuck`."""

    def waiting_seconds(self) -> dict[str, float]:
        """See `LiveRace.waiting_seconds`; of those only whose backlog can grow."""

    def busy_seconds(self) -> dict[str, FloatArray]:
        """See `LiveRace.busy_seconds`."""

    def waiting_tasks(self) -> dict[str, int]:
        """See `LiveRace.waiting_tasks`."""

    def waiting_room(self, name: str, most: int, task_id: int | None = None) -> list[WaitingTask]:
        """See `LiveRace.waiting_room`."""
