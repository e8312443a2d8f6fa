"""What `compare` gives: a table for people, figures and data frames for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.engine.compare import GAP, ComparisonResult, SchedulerResult
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound
from hybrid_scheduler.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TaskOutcomes:
    """What became of every task under one scheduler, warm-up included.

    Attributes:
        tasks: The tasks.
        batch: Their outcomes, as columns.
        warmup: The first so many do not count in the figures.
    """

    tasks: TaskBatch
    batch: OutcomeBatch
    warmup: int = 0

    def __len__(self) -> int:
        return len(self.batch)

    def to_dataframe(self) -> pd.DataFrame:
        """A row per task: its features, when it ran where, and what it took; times in seconds, energy in joules."""
        import pandas as pd  # slow to import, and only data frames need it

        batch, count = self.batch, len(self.batch)
        kept = ~batch.part_lost
        task, device, share = batch.part_task[kept], batch.part_device[kept], batch.part_share[kept]
        gpu = batch.device_gpu_id[device] >= 0
        gpu_id = np.full(count, -1)
        gpu_id[task[gpu]] = batch.device_gpu_id[device[gpu]]
        start = np.full(count, np.inf)
        np.minimum.at(start, task, batch.part_start[kept])
        names = np.full(count, "", dtype=object)
        for position, row in zip(task.tolist(), device.tolist(), strict=True):
            names[position] += ("+" if names[position] else "") + batch.device_names[row]
        return pd.DataFrame(
            {
                "task_id": batch.task_id,
                "size": self.tasks.size,
                "compute_intensity": self.tasks.compute_intensity,
                "memory_required": self.tasks.memory_required,
                "arrival_time": batch.arrival_time,
                "ready_time": batch.ready_time,
                "decided_time": batch.decided_time,
                "start_time": np.where(np.isfinite(start), start, np.nan),
                "finish_time": batch.finish_time,
                "wait_time": batch.response_time - batch.actual_time,
                "actual_time": batch.actual_time,
                "response_time": batch.response_time,
                "energy": batch.energy,
                "cost": batch.cost,
                "devices": names,
                "gpu_fraction": np.bincount(task[gpu], weights=share[gpu], minlength=count),
                "gpu_id": pd.Series(gpu_id, dtype="Int64").where(gpu_id >= 0),
                "failed": batch.failed,
                "overtaken": batch.overtaken,
                "counted": np.arange(count) >= self.warmup,
            }
        )


@dataclass(frozen=True, repr=False)
class CompareResult(Mapping[str, SchedulerResult]):
    """The figures of every scheduler, by name; prints as a table.

    Attributes:
        scenario: The world and its tasks.
        race: The figures, and the document of `hms compare --json`.
        notes: What a user should know: columns that were derived, learners that started cold.
    """

    scenario: Scenario
    race: ComparisonResult
    notes: tuple[str, ...] = ()
    _outcomes: Mapping[str, OutcomeBatch] = field(default_factory=dict)

    @property
    def lower_bound(self) -> LowerBound | None:
        """What no scheduler could beat; None when no task finished."""
        return self.race.lower_bound

    def __getitem__(self, name: str) -> SchedulerResult:
        if name not in self.race.schedulers:
            raise UnknownNameError("scheduler of this race", name, self.race.schedulers)
        return self.race.schedulers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.race.schedulers)

    def __len__(self) -> int:
        return len(self.race.schedulers)

    def outcomes(self, name: str) -> TaskOutcomes:
        """What became of every task under one scheduler.

        Raises:
            InvalidInputError: There is no such scheduler in the race, or its outcomes were not kept.
        """
        self[name]  # a wrong name is said first
        if name not in self._outcomes:
            raise InvalidInputError("the outcomes of this race were not kept")
        return TaskOutcomes(self.race.comparison.tasks, self._outcomes[name], self.scenario.warmup)

    def to_json(self) -> dict[str, object]:
        """The document of `hms compare --json`."""
        return self.race.to_json()

    def to_dataframe(self) -> pd.DataFrame:
        """A row per scheduler, a column per figure; devices have a column of their own (`utilization_gpu_0`)."""
        import pandas as pd  # slow to import, and only data frames need it

        rows = {name: _flat(result.figures()) for name, result in self.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("scheduler")

    def plot(self, metric: str = "avg_response") -> Figure:
        """One figure of every scheduler as bars, the best on top, beside the lower bound where there is one.

        Raises:
            InvalidInputError: There is no such metric, or it is not one number.
            MissingExtraError: matplotlib is not installed.
        """
        from hybrid_scheduler.experiments.statistics import Estimate
        from hybrid_scheduler.reports.plots.bars import bars
        from hybrid_scheduler.reports.plots.style import BOUND
        from hybrid_scheduler.reports.words import bigger_is_better, metric_words, unit_of

        estimates = {}
        for name, result in self.items():
            figures = result.figures()
            if metric not in figures:
                raise UnknownNameError("metric", metric, figures)
            value = figures[metric]
            if not isinstance(value, int | float):
                raise InvalidInputError(f"metric {metric!r} of {name} is {value!r}, but a plot needs one number")
            estimates[name] = Estimate(float(value), None, None, ())
        if hasattr(self.lower_bound, metric):
            estimates[BOUND] = Estimate(getattr(self.lower_bound, metric), None, None, ())
        words, unit, more = metric_words(metric), unit_of(metric), bigger_is_better(metric)
        better = f"{unit}, {'more' if more else 'less'} is better".removeprefix(", ")
        return bars(words[:1].upper() + words[1:], better, estimates, biggest_first=more)

    def __repr__(self) -> str:
        from hybrid_scheduler.api.table import as_text

        return "\n".join([as_text(self.race), *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from hybrid_scheduler.api.table import as_html

        return as_html(self.race, self.notes)


def _flat(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Figures per device as columns of their own; their average under the plain name."""
    row: dict[str, Any] = {}
    for name, value in figures.items():
        if not isinstance(value, Mapping):
            row[name] = value
            continue
        if name == GAP.name:
            row |= {f"{name}_{metric}": of_metric for metric, of_metric in value.items()}
            continue
        row[name] = value.get(f"average_{name}")
        for device, of_device in value.items():
            if isinstance(of_device, Mapping):
                row |= {f"{name}_{device}": inner for inner in of_device.values()}
    return row
