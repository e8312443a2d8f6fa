"""What the benchmark of backfilling promises: any log, its document, and a verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "backfilling.py"


def test_a_log(tmp_path: Path) -> None:
    # Three processors until 10; a job of four has to wait for them; one of 5 s and one processor need not.
    jobs = [(0, 10, 3, 20), (1, 5, 4, 10), (2, 5, 1, 9)]
    lines = [
        f"{i} {at} -1 {run} {wide} -1 -1 {wide} {asked} -1 1 1 1 1 1 -1 -1 -1"
        for i, (at, run, wide, asked) in enumerate(jobs)
    ]
    log = tmp_path / "jobs.swf"
    log.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    command = [
        sys.executable,
        str(SCRIPT),
        str(log),
        "--cpus",
        "4",
        "--schedulers",
        "fcfs,easy_backfill",
        "--json",
        "-",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["jobs"], said["cpus"]) == (3, 4)
    # Waits of 0, 9 and 13 s in turn; the small job starts at once where it may overtake.
    assert said["schedulers"]["fcfs"]["avg_wait"] == pytest.approx((0 + 9 + 13) / 3)
    assert said["schedulers"]["easy_backfill"]["avg_wait"] == pytest.approx((0 + 9 + 0) / 3)
    assert said["schedulers"]["easy_backfill"]["bounded_slowdown"] == pytest.approx((1.0 + 14 / 10 + 1.0) / 3)
    assert "users asked for" in done.stderr
