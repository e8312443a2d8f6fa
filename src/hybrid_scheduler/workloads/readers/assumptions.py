"""The rules by which readers fill what a file does not say; each has a name, and every use of it is stated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError, TaskBatch
from hybrid_scheduler.model.task import Dependency, sizes_of
from hybrid_scheduler.physics.cost import gpu_speedup
from hybrid_scheduler.workloads.csv_table import PLACEHOLDERS
from hybrid_scheduler.workloads.csv_tasks import COLUMNS, row_of_each
from hybrid_scheduler.workloads.presets import find_preset
from hybrid_scheduler.workloads.recorded import Assumption, TableFile, TraceFile
from hybrid_scheduler.workloads.streams import Streams

LEAST_SECONDS = 0.001
PRESET = "mixed"

RULES = {
    "derived": "columns of the project's own format that are absent are derived as that format says",
    "dropped": "what cannot be simulated is left out, and counted",
    "intensity_from_seed": f"the compute intensity is drawn as the preset `{PRESET}` draws it, from the seed",
    "cpu_time_from_file": "a job that ran on a CPU takes its recorded time on a CPU of speed 1",
    "cpu_time_from_gpu_time": "a job that ran on a GPU takes, on a CPU of speed 1, its recorded time times the linear "
    "speedup of its intensity; a GPU of speed 1 then takes the recorded time",
    "size_from_time": "the size is the one that the formula for times gives the CPU time for, at the task's intensity",
    "memory_zero": "a task whose memory is unknown moves nothing to a GPU and fits everywhere",
    "least_time": "a recorded time of 0 counts as a millisecond",
    "data_from_files": "from each parent come the files that it writes and the task reads, by their sizes",
    "arrive_together": "a file without arrivals: all tasks arrive at 0",
    "one_device": "a job that occupied several devices together (its width) runs as one task on one device, for its "
    "recorded time",
    "width_one": "a job that does not say its processors has one",
    "processors_are_cpus": "a processor of a log is one CPU",
    "parent_absent": "a job that follows one that is not among the tasks waits for none",
    "think_time_ignored": "a job that follows another may start as soon as that has ended",
    "host_memory_ignored": "the host memory of a pod moves to no GPU",
    "cores_ignored": "a pod without a GPU runs on one CPU, however many cores it asked for",
    "whole_gpu": "a pod that asked for a part of a GPU has a whole one",
    "median_of_devices": "a kernel's time is the median over the devices of a kind",
    "intensity_from_times": "the compute intensity is the one whose linear speedup is CPU time over GPU time",
    "size_is_bytes": "a kernel's size is the bytes of its data",
    "thousand_steps": "a training job is a thousand steps",
}
"""Every rule of the built-in readers by name."""


def trace_of_jobs(
    path: Path,
    seconds: FloatArray,
    seed: int,
    *,
    on_gpu: NDArray[np.bool_] | None = None,
    arrival: FloatArray | None = None,
    task_id: IntArray | None = None,
    memory: FloatArray | None = None,
    width: IntArray | None = None,
    requested_time: FloatArray | None = None,
    dependencies: Sequence[Sequence[Dependency]] | None = None,
    kind: Sequence[str] | None = None,
    assumed: Sequence[Assumption] = (),
) -> TraceFile:
    """Tasks of recorded jobs; all columns are in the order of the file.

    Args:
        path: The file, for errors.
        seconds: Recorded run times.
        seed: Of what is drawn.
        on_gpu: Which of them ran on a GPU; None: all on a CPU.
        arrival: When they arrived, on any clock; the first arrives at 0. None: all at once.
        task_id: Their ids; None: numbered from 0.
        memory: Megabytes, NaN where unknown; None: unknown.
        width: How many devices each occupied together; None: one each.
        requested_time: What their users asked for, in seconds, NaN where unknown.
        dependencies: Ids of their parents, or pairs of an id and the megabytes that come from there.
        kind: What they do.
        assumed: What the reader has decided already.

    Raises:
        InvalidInputError: A time is out of range, an id occurs twice, or jobs wait for each other.
    """
    count = len(seconds)
    said = list(assumed)
    seconds = _at_least(seconds, said)
    intensity = find_preset(PRESET).shapes.draw(Streams(seed), 0, count, count).intensity
    said.append(Assumption("intensity_from_seed", f"compute_intensity is drawn as the preset {PRESET} draws it", seed))
    on_cpu = seconds
    if on_gpu is not None and on_gpu.any():
        on_cpu = np.where(on_gpu, seconds * gpu_speedup(intensity), seconds)
        text = "a job recorded on a GPU takes its time times its linear speedup on a CPU, its own on a GPU of speed 1"
        said.append(Assumption("cpu_time_from_gpu_time", text, tasks=int(on_gpu.sum())))
    if on_gpu is None or not on_gpu.all():
        text = "a job recorded on a CPU takes its recorded time on a CPU of speed 1; a GPU is faster by its intensity"
        said.append(Assumption("cpu_time_from_file", text, tasks=count if on_gpu is None else int((~on_gpu).sum())))
    said.append(Assumption("size_from_time", "size is the one whose time by formula is the CPU time"))
    if arrival is None:
        said.append(Assumption("arrive_together", "all tasks arrive at 0; a rate or load spreads them"))
    try:
        tasks = TaskBatch.from_columns(
            sizes_of(on_cpu, intensity),
            intensity,
            _known(memory, count, said),
            task_id=task_id,
            arrival_time=None if arrival is None else arrival - arrival.min(),
            duration_estimate=on_cpu,
            dependencies=dependencies,
            kind=kind,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    rows = row_of_each(np.arange(count) if task_id is None else task_id, tasks)
    width = None if width is None else width[rows]
    requested = None if requested_time is None else requested_time[rows]
    return TraceFile(tasks, (), (*said, *one_device(width)), width, requested)


def table_of_times(
    seconds: FloatArray,
    device_names: tuple[str, ...],
    *,
    width: IntArray | None = None,
    kind: Sequence[str] | None = None,
    assumed: Sequence[Assumption] = (),
    **columns: FloatArray,
) -> TableFile:
    """Tasks whose times on every device are known, numbered from 0 and all there at 0.

    Args:
        seconds: Times, one row per task, one column per device.
        device_names: The devices; the time on the first is the estimate.
        width: How many devices of one kind each occupies together.
        kind: What they do.
        assumed: What the reader has decided already.
        columns: Task columns that the file has; the others are placeholders.
    """
    filled: dict[str, Any] = {name: np.full(len(seconds), value) for name, value in PLACEHOLDERS.items()}
    tasks = TaskBatch.from_columns(**{**filled, **columns}, duration_estimate=seconds[:, 0], kind=kind)
    given = {*columns, *(() if kind is None else ("kind",))}
    derived = tuple(name for name in COLUMNS if name not in given)
    return TableFile(tasks, seconds, device_names, derived, (*assumed, *one_device(width)), width)


def dropped(count: int, text: str) -> list[Assumption]:
    """The statement that so many jobs were left out; none when there were none."""
    return [Assumption("dropped", f"{count} {text}: left out", tasks=count)] if count else []


def one_device(width: IntArray | None) -> list[Assumption]:
    """The statement that jobs of several devices run on one; none when there are none."""
    wide = 0 if width is None else int((width > 1).sum())
    if width is None or not wide:
        return []
    text = (
        f"{wide} tasks occupied several devices together, up to {width.max()}; each runs as one task on one device, "
        "for its recorded time"
    )
    return [Assumption("one_device", text, tasks=wide)]


def _at_least(seconds: FloatArray, said: list[Assumption]) -> FloatArray:
    zero = int((seconds == 0).sum())
    if zero:
        said.append(Assumption("least_time", f"{zero} tasks took 0 s; they count as {LEAST_SECONDS} s", tasks=zero))
    return np.where(seconds == 0, LEAST_SECONDS, seconds)


def _known(memory: FloatArray | None, count: int, said: list[Assumption]) -> FloatArray:
    """Memory with 0 where it is unknown."""
    values = np.full(count, np.nan) if memory is None else memory
    unknown = int(np.isnan(values).sum())
    if unknown:
        which = "the file does not say memory_required" if unknown == count else f"{unknown} tasks have no memory"
        said.append(Assumption("memory_zero", f"{which}: 0 MB", tasks=unknown))
    return np.nan_to_num(values)
