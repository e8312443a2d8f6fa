"""`Scenario`: a world and its tasks. Every question about rates, loads, seeds and streams is answered here."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.live_source import LiveSource
from hybrid_scheduler.scenario.sources import GraphTasks, PresetTasks, RecordedTasks, Source, drawn_again, observed_rate

DEFAULT_LOAD = 0.6
DEFAULT_TASKS = 1000
DEFAULT_SEED = 42
TRAINING_SEEDS = 1_000_000
"""Added to a seed for the tasks learners are trained on: never those they are judged by."""


@dataclass(frozen=True)
class Rate:
    """Arrivals at so many tasks per second."""

    per_second: float


@dataclass(frozen=True)
class Load:
    """Arrivals at a share of the node's capacity."""

    share: float


@dataclass(frozen=True)
class Scenario:
    """A world, its tasks and how they arrive. `scenario.build_scenario` makes one of a command's options.

    Attributes:
        source: Where the tasks come from.
        world: The devices and how they behave.
        num_tasks: How many, of graphs at least; None: 1000 of a preset, one graph, all of a file.
        arrivals: At a rate or a load; None: load 0.6 for a preset, the recorded arrivals of a file.
        seed: Of the tasks and of the noise.
        isolated: Every task meets an idle node: the next arrives when the last has ended.
        warmup: Statistics and bounds leave out the first so many tasks.
    """

    source: Source = PresetTasks()
    world: World = World()
    num_tasks: int | None = None
    arrivals: Rate | Load | None = None
    seed: int = DEFAULT_SEED
    isolated: bool = False
    warmup: int = 0

    @cached_property
    def capacity(self) -> float:
        """Tasks per second of this kind that the node can do at most."""
        return self._source.capacity(self.world)

    @cached_property
    def rate(self) -> float | None:
        """Tasks per second; None when the next task waits for the last, or all arrive at once."""
        if self.isolated or (self._is_one_graph and self.arrivals is None):
            return None
        if isinstance(self._source, RecordedTasks) and self.arrivals is None:
            return observed_rate(self._source.tasks)
        return self._wanted_rate

    @property
    def load(self) -> float | None:
        """The rate as a share of the capacity."""
        return None if self.rate is None else self.rate / self.capacity

    @property
    def preset(self) -> str | None:
        """Name of the preset, if the tasks come from one."""
        return None if isinstance(self.source, RecordedTasks) else self.source.preset

    def batch(self) -> TaskBatch:
        """The tasks, all of them.

        Raises:
            InvalidInputError: A setting breaks its rule, or there are more tasks than this machine can hold.
        """
        return self._batch

    def stream(self, start: float = 0.0) -> LiveSource:
        """The tasks one after the other from a time on, without an end: a file is repeated.

        Raises:
            InvalidInputError: The tasks cannot go on without an end.
        """
        if isinstance(self.source, PresetTasks) and self.source.dependency_prob:
            raise InvalidInputError("an endless stream has no dependencies; leave out dependency_prob")
        if isinstance(self.source, RecordedTasks) and self.source.kind == "table":
            raise InvalidInputError(
                f"{self.source.name} has times for its own tasks only, so it cannot go on without an end; give a trace"
            )
        return LiveSource(self.source, self.seed, self._wanted_rate, start=start)

    def training(self, tasks: int) -> Scenario:
        """So many tasks of the same kind from another seed, for learners.

        Raises:
            InvalidInputError: There are no others: a table has times for its own tasks only.
        """
        seed = self.seed + TRAINING_SEEDS
        if not isinstance(self.source, RecordedTasks):
            return replace(self, num_tasks=tasks, seed=seed, warmup=0)
        if self.source.kind == "table" or isinstance(self.world.physics.cost, TableCost):
            raise InvalidInputError(
                "training needs tasks of the same kind, but a table has no others; use a preset or a trace"
            )
        drawn = RecordedTasks(drawn_again(self.batch(), tasks, seed), self.source.name)
        return replace(self, source=drawn, num_tasks=None, arrivals=None, seed=seed, warmup=0)

    def facts(self) -> dict[str, object]:
        """Where the tasks come from and how they are raced, for a document."""
        source, rate = self.source, self.rate
        if isinstance(source, RecordedTasks) and not self.isolated:
            rate = observed_rate(self.batch())
        if self._is_one_graph:
            rate = None
        origin: dict[str, object] = (
            {source.kind: source.name} if isinstance(source, RecordedTasks) else {"preset": source.preset}
        )
        return {
            **origin,
            "arrival_rate": rate,
            "load": None if rate is None else rate / self.capacity,
            **source.facts(),
            "tasks": self.count,
            "warmup": self.warmup,
            "isolated": self.isolated,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the tasks: what was derived, what has no effect."""
        notes: list[str] = []
        if self.isolated and self.arrivals is not None:
            notes.append("isolated: the next task arrives when the last has ended; rate and load change nothing")
        elif self._is_one_graph and self.arrivals is not None:
            alone = f"one graph of {self.count} tasks arrives at once"
            notes.append(f"{alone}; rate and load change nothing, more tasks make a stream")
        if isinstance(self.source, RecordedTasks):
            notes += [note.text if note.rule == "derived" else str(note) for note in self.source.notes]
            if "arrival_time" in self.source.derived and not self.isolated and self.rate is None:
                notes.append("without arrival times all tasks arrive at once; a rate or load spreads them")
        return tuple(notes)

    @property
    def count(self) -> int:
        """How many tasks there are."""
        if isinstance(self._source, RecordedTasks):
            return len(self._source.tasks)
        if isinstance(self._source, GraphTasks):
            return self._source.graphs(self.num_tasks) * self._source.graph.tasks
        return DEFAULT_TASKS if self.num_tasks is None else self.num_tasks

    @property
    def _is_one_graph(self) -> bool:
        return isinstance(self.source, GraphTasks) and self.source.graphs(self.num_tasks) == 1

    @cached_property
    def _source(self) -> Source:
        """The source; of a file the tasks that are wanted."""
        if isinstance(self.source, RecordedTasks) and self.num_tasks is not None:
            return self.source.first(self.num_tasks)
        return self.source

    @property
    def _wanted_rate(self) -> float:
        match self.arrivals:
            case Rate(per_second):
                return per_second
            case Load(share):
                return share * self.capacity
            case None:
                return DEFAULT_LOAD * self.capacity

    @cached_property
    def _batch(self) -> TaskBatch:
        refuse_beyond_memory(self.count, len(self.world.cluster.devices))
        source = self._source
        if not isinstance(source, RecordedTasks):
            return source.draw(self.seed, self.count, None if self._is_one_graph else self.rate)
        if self.isolated or self.arrivals is None:
            return source.tasks
        return source.at(self._wanted_rate, self.seed)


def refuse_beyond_memory(tasks: int, devices: int) -> None:
    """A machine that swaps or kills the process says less than one line here."""
    needed = tasks * (800 + 40 * devices)  # bytes; measured over a race of a million tasks
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return
    if needed > there:
        raise InvalidInputError(
            f"{tasks} tasks on {devices} devices need about {needed / 1e9:.0f} GB of memory, but this machine has "
            f"{there / 1e9:.0f} GB; use fewer tasks"
        )
