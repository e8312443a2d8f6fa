"""Tables: measured times per task and device as a CSV file, one row per task, one column per device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np

from hybrid_scheduler.model import FloatArray, InvalidInputError
from hybrid_scheduler.workloads.csv_cells import Parser, read_cells
from hybrid_scheduler.workloads.csv_columns import seconds_parser, task_parsers
from hybrid_scheduler.workloads.csv_tasks import COLUMNS, build_tasks, row_of_each, task_column_names
from hybrid_scheduler.workloads.recorded import TableFile

PLACEHOLDERS = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 0.0}
"""What a table's tasks look like where the table says nothing of it."""


def read_table(path: str | Path) -> TableFile:
    """Read times per task and device.

    Every column that is not a task column (see `read_csv`; all are optional here) is a device and holds the seconds
    the whole task takes on it. Absent task columns are derived as in a trace, except size (1000), intensity (0.5) and
    memory (0), which are placeholders, and `duration_estimate`, which is the time on the first device whose name
    starts with `cpu`, or else on the first device.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    names: dict[str, str] = {}
    devices: list[str] = []

    def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
        names.update(task_column_names(header))
        devices.extend(name for name in header if name not in names.values())
        if "" in devices:
            position = header.index("") + 1
            raise InvalidInputError(f"{path}, line 1: column {position} has no name; name its device or delete it")
        if not devices:
            raise InvalidInputError(
                f"{path}, line 1: no column is a device; add one per device, like 'cpu_0', with seconds in it"
            )
        seconds = seconds_parser(" (a column that is not a task column is a device)")
        parsers = task_parsers(names, time_given=True)
        return {column: parsers[name] for name, column in names.items()} | dict.fromkeys(devices, seconds)

    file = read_cells(path, choose)
    times = {name: cast(FloatArray, file.columns[name]) for name in devices}
    base = next((name for name in devices if name.startswith("cpu")), devices[0])
    filled = {name: np.full(len(file), value) for name, value in PLACEHOLDERS.items()}
    tasks = build_tasks(file, names, {**filled, "duration_estimate": times[base]})
    ids = file.columns.get("task_id", np.arange(len(file)))
    seconds = np.column_stack([times[name] for name in devices])[row_of_each(np.asarray(ids), tasks)]
    return TableFile(tasks, seconds, tuple(devices), tuple(name for name in COLUMNS if name not in names))
