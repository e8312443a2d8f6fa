"""How fast `hms inspect` reads a large trace of the project's own format, and in how much memory.

    python benchmarks/inspecting.py                     # ten million tasks, about a minute
    python benchmarks/inspecting.py --tasks 1000000

The file is written to a temporary folder first. The command runs in a process of its own, and twice: the first time may
compile. Rows per second are of the whole process, its start included; memory is the largest resident set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from hybrid_scheduler.workloads import WorkloadGenerator

BLOCK = 500_000
HMS = (sys.executable, "-c", "from hybrid_scheduler.cli import main; main()")


def write(path: Path, tasks: int) -> None:
    """Write so many tasks of the preset `mixed`, with every column."""
    synthesis = WorkloadGenerator(1).synthesis("mixed")
    writer = None
    for first in range(0, tasks, BLOCK):
        count = min(BLOCK, tasks - first)
        block = synthesis.take(count)
        table = pa.table(
            {
                "task_id": pa.array(range(first, first + count)),
                "size": block.size,
                "compute_intensity": block.compute_intensity,
                "memory_required": block.memory_required,
                "arrival_time": block.arrival_time,
                "duration_estimate": (block.size / 1000.0) ** 1.5 / (block.compute_intensity + 0.5),
                "dependencies": ["[]"] * count,
                "kind": ["synthetic"] * count,
            }
        )
        writer = writer or csv.CSVWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def measured(path: Path) -> tuple[float, float]:
    """Seconds and megabytes of one run of the command."""
    start = time.perf_counter()
    process = subprocess.Popen([*HMS, "inspect", str(path)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"hms inspect ended with status {status}")
    unit = 1e6 if sys.platform == "darwin" else 1e3  # macOS counts bytes, Linux kilobytes
    return time.perf_counter() - start, usage.ru_maxrss / unit


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10_000_000)
    tasks = parser.parse_args().tasks
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.csv"
        write(path, tasks)
        print(f"{tasks} tasks, {path.stat().st_size / 1e6:.0f} MB")
        for run in ("first run", "second run"):
            seconds, megabytes = measured(path)
            print(f"{run}: {seconds:.1f} s, {tasks / seconds:,.0f} rows per second, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
