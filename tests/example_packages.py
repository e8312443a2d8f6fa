"""The packages in `examples/`, installed into a folder and used from there, as a third party would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HMS = ("-c", "from hybrid_scheduler.cli import main; main()")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def install(name: str, target: Path) -> dict[str, str]:
    """Install an example into a folder, without network; returns the environment in which it is found."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-index", "--no-build-isolation", "--target", str(target), str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {**os.environ, "PYTHONPATH": str(target)}


def python(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """Run Python in a folder; returns what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def own_tests(environment: dict[str, str], name: str) -> str:
    """Run the example's own tests; returns what pytest printed."""
    folder = EXAMPLES / name
    return python(
        environment, folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "tests"
    )
