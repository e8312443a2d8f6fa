"""What the benchmark on published instances promises: any folder of such instances, and its document."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "hcsp.py"


def test_a_folder_of_instances(tmp_path: Path) -> None:
    # Two tasks, two machines: MET puts both on machine 0 (4 s), min-min one on each (3 s).
    text = "2 2 0\n2\n8\n2\n3\n"
    (tmp_path / "one.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "two").write_text(text)
    (tmp_path / "best_known.csv").write_text("instance,best_known_makespan\none,2\ntwo,1\n")
    command = [sys.executable, str(SCRIPT), str(tmp_path), "--schedulers", "met,min_min,optimizer", "--json", "-"]
    done = subprocess.run([*command, "--limit", "2.2"], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["instances"] == {
        "one": {"met": 2.0, "min_min": 1.5, "optimizer": 1.5},
        "two": {"met": 4.0, "min_min": 3.0, "optimizer": 3.0},
    }
    assert said["geometric_mean"]["met"] == pytest.approx(8.0**0.5)
    above = subprocess.run([*command, "--limit", "2.1"], capture_output=True, text=True, timeout=110)
    assert above.returncode == 1, "the optimizer's mean is the square root of 4.5"
