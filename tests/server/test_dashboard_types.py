"""The dashboard's types cannot drift from the API."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STALE = "run python scripts/write_openapi.py && npm --prefix dashboard run types"


def test_the_description_is_current() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "write_openapi.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{STALE}\n{done.stderr}"


def test_the_types_are_current() -> None:
    """`openapi-typescript --check` compares without writing."""
    npx = shutil.which("npx")
    assert npx is not None, "the dashboard's tests need Node.js"
    folder = ROOT / "dashboard"
    command = [npx, "--no-install", "openapi-typescript", "openapi.json", "--output", "src/api/schema.ts", "--check"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{STALE}\n{done.stdout}{done.stderr}"
