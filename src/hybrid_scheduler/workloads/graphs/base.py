"""The contract of a graph generator, and what one graph is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError, UnknownNameError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.model.task import DEFAULT_KIND
from hybrid_scheduler.workloads.streams import Streams

MOST_GRAPH_TASKS = 1_000_000
"""Tasks of one graph."""


@dataclass(frozen=True)
class TaskGraph:
    """The tasks of one graph as columns, parents before their children.

    Attributes:
        size: Problem size of each task.
        compute_intensity: Its intensity.
        memory_required: Megabytes it works on, what comes from its parents included.
        parent_start: The parents of task i are ``parents[parent_start[i]:parent_start[i + 1]]``.
        parents: Positions in the graph.
        parent_mb: Megabytes that come from each of them.
        kinds: Names of the kinds there are.
        kind_index: The kind of each task, as a position in `kinds`.
    """

    size: FloatArray
    compute_intensity: FloatArray
    memory_required: FloatArray
    parent_start: IntArray
    parents: IntArray
    parent_mb: FloatArray
    kinds: tuple[str, ...]
    kind_index: IntArray

    @staticmethod
    def of(
        size: FloatArray,
        compute_intensity: FloatArray,
        parents: list[IntArray],
        parent_mb: FloatArray,
        input_mb: FloatArray,
        kind: list[str] | None = None,
    ) -> TaskGraph:
        """Pack columns.

        Args:
            size: Problem size of each task.
            compute_intensity: Its intensity.
            parents: Positions of its parents, one array per task.
            parent_mb: Megabytes that come from each parent, task after task.
            input_mb: Megabytes each task works on beside those.
            kind: Its kind.
        """
        counts = np.array([len(positions) for positions in parents], dtype=np.int64)
        received = np.bincount(np.repeat(np.arange(len(size)), counts), weights=parent_mb, minlength=len(size))
        kinds = [DEFAULT_KIND] if kind is None else sorted(set(kind))
        index = {name: number for number, name in enumerate(kinds)}
        return TaskGraph(
            size,
            compute_intensity,
            received + input_mb,
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate([np.zeros(0, dtype=np.int64), *parents]),
            parent_mb,
            tuple(kinds),
            np.array([0 if kind is None else index[kind[i]] for i in range(len(size))], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.size)


def parameter(default: float, low: float, high: float, what: str) -> Any:
    """A parameter of a generator: a whole number if its default is one."""
    number = "a whole number" if isinstance(default, int) else "a number"
    return field(default=default, metadata={"legal": Range(low, high, number), "what": what})


@dataclass(frozen=True)
class GraphPreset(ABC):
    """A kind of graph; its fields, made by `parameter`, are its parameters.

    Attributes:
        name: What users call it.
        summary: One line for lists.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __post_init__(self) -> None:
        for each in fields(self):
            value, legal = getattr(self, each.name), each.metadata["legal"]
            if not legal.holds(value) or (isinstance(each.default, int) and value != int(value)):
                raise InvalidInputError(f"{each.name} of preset {self.name} is {value!r}, but it must be {legal}")
        if self.tasks > MOST_GRAPH_TASKS:
            raise InvalidInputError(
                f"preset {self.text} has {self.tasks} tasks in a graph, but it must be at most {MOST_GRAPH_TASKS}"
            )

    @property
    @abstractmethod
    def tasks(self) -> int:
        """How many tasks a graph has."""

    @abstractmethod
    def draw(self, streams: Streams) -> TaskGraph:
        """The next graph.

        Args:
            streams: Where random numbers come from; the same object in every call for one workload.
        """

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def text(self) -> str:
        """The preset as users write it, with the parameters that are not as usual."""
        usual = {each.name: each.default for each in fields(self)}
        changed = [f"{name}={value:g}" for name, value in self.parameters.items() if value != usual[name]]
        return ":".join([self.name, ",".join(changed)]) if changed else self.name

    @classmethod
    def read(cls, text: str) -> GraphPreset:
        """The preset with parameters such as ``tiles=10,tile=480``; those that are left out are as usual.

        Raises:
            InvalidInputError: There is no such parameter, or it breaks its rule.
        """
        known = {each.name: each for each in fields(cls)}
        given: dict[str, float] = {}
        for setting in filter(None, text.split(",")):
            name, _, value = setting.partition("=")
            if name not in known:
                raise UnknownNameError(f"parameter of preset {cls.name}", name, known)
            try:
                given[name] = int(value) if isinstance(known[name].default, int) else float(value)
            except ValueError as error:
                usual = f"{name}={known[name].default:g}"
                raise InvalidInputError(
                    f"{setting!r} of preset {cls.name} must be {known[name].metadata['legal']}, e.g. {usual}"
                ) from error
        return cls(**given)
