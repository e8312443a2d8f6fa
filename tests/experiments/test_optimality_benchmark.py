"""What the benchmark against proved optima promises: its document, and that nobody is below a bound."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "optimality.py"


def test_three_graphs() -> None:
    command = [sys.executable, str(SCRIPT), "--graphs", "3", "--seconds", "0.5", "--schedulers", "heft,mct"]
    done = subprocess.run([*command, "--json", "-"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["graphs"], said["below"]) == (3, [])
    assert 0 <= said["proved"] <= 3
    assert list(said["schedulers"]) == ["heft", "mct"]
    for figures in said["schedulers"].values():
        assert 0.9 < figures["mean"] <= figures["worst"] < 3.0
