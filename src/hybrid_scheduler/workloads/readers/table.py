"""The project's own format of measured times: a CSV file with one column per device."""

from __future__ import annotations

import re
from pathlib import Path

from hybrid_scheduler.workloads.csv_table import read_table
from hybrid_scheduler.workloads.csv_tasks import task_column_names
from hybrid_scheduler.workloads.csv_trace import REQUIRED
from hybrid_scheduler.workloads.readers.base import Reader, header_of
from hybrid_scheduler.workloads.recorded import TableFile

DEVICE = re.compile(r"[cg]pu_?\d+")


class TableReader(Reader):
    """See `read_table`."""

    title = "CSV of this project, times per task and device"

    def recognises(self, head: bytes, name: str) -> bool:
        """A column is called like a device (`cpu_0`), and it is not a trace."""
        header = header_of(head)
        names = task_column_names(header)
        return any(map(DEVICE.fullmatch, header)) and not all(required in names for required in REQUIRED)

    def read(self, path: Path, seed: int) -> TableFile:
        """Read it; nothing is drawn."""
        return read_table(path)
