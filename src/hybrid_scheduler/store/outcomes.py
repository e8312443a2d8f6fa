"""From the model's shapes to rows: nothing is recomputed here, an outcome knows its own figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import Dependency, Task
from hybrid_scheduler.store.rows import PartRow, ResultRow, TaskRow, TrainingRow


def task_row(task: Task, run_id: int, task_id: int, dependencies: Sequence[Dependency] = ()) -> TaskRow:
    """A task under its stored id; `dependencies` name stored ids too."""
    return TaskRow(
        task_id,
        run_id,
        float(task.size),
        float(task.compute_intensity),
        float(task.memory_required),
        float(task.arrival_time),
        tuple(dependencies),
        float(task.duration_estimate),
        task.kind,
    )


def result_row(outcome: Outcome, scheduler_name: str, task_id: int) -> ResultRow:
    """What came of a task under one scheduler."""
    return ResultRow(
        task_id,
        scheduler_name,
        float(outcome.gpu_fraction),
        outcome.gpu_id,
        outcome.actual_time,
        outcome.wait_time,
        outcome.response_time,
        outcome.finish_time,
        _known(outcome.energy),
        outcome.cost,
        outcome.failed,
        tuple(
            PartRow(p.device, p.share, p.start, p.end, p.expected if math.isfinite(p.expected) else None, p.lost)
            for p in outcome.parts
        ),
        ready_time=outcome.ready_time,
        queue_seconds=outcome.queue_seconds,
        decided_time=outcome.decided_time,
        overtaken=outcome.overtaken,
    )


def training_row(label: Label, task_id: int, devices: Sequence[str]) -> TrainingRow:
    """The oracle's label; `devices` are the names in the order of `label.seconds`."""
    task, seconds = label.task, label.seconds.tolist()
    return TrainingRow(
        task_id,
        float(task.size),
        float(task.compute_intensity),
        float(task.memory_required),
        label.gpu_fraction,
        label.optimal_seconds,
        {name: value if math.isfinite(value) else None for name, value in zip(devices, seconds, strict=True)},
    )


def result_rows(outcomes: OutcomeBatch, scheduler_name: str, task_ids: Sequence[int]) -> list[ResultRow]:
    """`result_row` of every outcome, from columns: a live race makes thousands of rows a second."""
    count, gpu_id = len(outcomes), outcomes.device_gpu_id.tolist()
    parts: list[list[PartRow]] = [[] for _ in range(count)]
    fraction = [0.0] * count
    gpu: list[int | None] = [None] * count
    for task, device, share, start, end, expected, lost in zip(
        outcomes.part_task.tolist(),
        outcomes.part_device.tolist(),
        outcomes.part_share.tolist(),
        outcomes.part_start.tolist(),
        outcomes.part_end.tolist(),
        outcomes.part_expected.tolist(),
        outcomes.part_lost.tolist(),
        strict=True,
    ):
        name = outcomes.device_names[device]
        parts[task].append(PartRow(name, share, start, end, expected if math.isfinite(expected) else None, lost))
        if gpu_id[device] >= 0 and not lost:
            fraction[task] += share
            if gpu[task] is None:
                gpu[task] = gpu_id[device]
    response = outcomes.response_time
    figures = zip(
        outcomes.actual_time.tolist(),
        (response - outcomes.actual_time).tolist(),
        response.tolist(),
        outcomes.finish_time.tolist(),
        outcomes.energy.tolist(),
        outcomes.cost.tolist(),
        outcomes.failed.tolist(),
        outcomes.ready_time.tolist(),
        _queues(outcomes),
        outcomes.decided_time.tolist(),
        outcomes.overtaken.tolist(),
        strict=True,
    )
    return [
        ResultRow(
            task_ids[i],
            scheduler_name,
            fraction[i],
            gpu[i],
            time,
            wait,
            whole,
            finish,
            _known(energy),
            cost,
            failed,
            tuple(parts[i]),
            None,
            ready,
            queue,
            decided,
            overtaken,
        )
        for i, (time, wait, whole, finish, energy, cost, failed, ready, queue, decided, overtaken) in enumerate(figures)
    ]


def _known(joules: float) -> float | None:
    return joules if math.isfinite(joules) else None


def _queues(outcomes: OutcomeBatch) -> list[tuple[float, ...] | None]:
    """The queues at every decision, None where they are not known."""
    queues = outcomes.queue_seconds
    if queues is None:
        return [None] * len(outcomes)
    unknown = set(np.flatnonzero(np.isnan(queues).any(axis=1)).tolist())
    return [None if i in unknown else tuple(row) for i, row in enumerate(queues.tolist())]
