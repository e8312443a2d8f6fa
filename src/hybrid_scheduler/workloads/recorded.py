"""What reading a file gives: its tasks, what stands beside them, and what had to be assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hybrid_scheduler.model import FloatArray, TaskBatch


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something a file does not say and a reader decided.

    Attributes:
        rule: Name of the rule, e.g. `intensity_from_seed`.
        text: What the rule did with this file, in a sentence.
        seed: Of what was drawn; None where nothing was.
        tasks: How many tasks it concerns; None: all.
    """

    rule: str
    text: str
    seed: int | None = None
    tasks: int | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.rule}{'' if self.seed is None else f', seed {self.seed}'})"

    def to_json(self) -> dict[str, object]:
        """For a document; what is None is left out."""
        everything = {"rule": self.rule, "text": self.text, "seed": self.seed, "tasks": self.tasks}
        return {name: value for name, value in everything.items() if value is not None}


@dataclass(frozen=True, slots=True)
class TraceFile:
    """Tasks of a file; their times follow from the cost model.

    Attributes:
        tasks: The tasks.
        derived: The columns of the project's own format that the file does not have; they were derived.
        assumed: What else had to be decided, and what was left out.
        requested_time: The run time its user asked for, in seconds, NaN where unknown; None: nobody was asked.
        wide_on: What the wide tasks ran on, `cpu` or `gpu`; None where the file does not say.
    """

    tasks: TaskBatch
    derived: tuple[str, ...]
    assumed: tuple[Assumption, ...] = ()
    requested_time: FloatArray | None = None
    wide_on: Literal["cpu", "gpu"] | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """Tasks of a file with their times on its devices.

    Attributes:
        tasks: The tasks.
        seconds: Whole-task seconds, one row per task in the order of `tasks`, one column per device.
        device_names: The device of each column; it is a GPU where the name begins with `gpu`.
        derived: The task columns the file does not have; placeholders or derived.
        assumed: What else had to be decided, and what was left out.
    """

    tasks: TaskBatch
    seconds: FloatArray
    device_names: tuple[str, ...]
    derived: tuple[str, ...]
    assumed: tuple[Assumption, ...] = ()


RecordedFile = TraceFile | TableFile
