"""A real `hms serve` as a process of its own, and the dashboard it serves, built when sources are newer."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "dashboard"
BUILT = ROOT / "src/hybrid_scheduler/server/static/index.html"
COMMAND = [str(Path(sys.executable).with_name("hms")), "serve"]
START_SECONDS = 300.0
"""The first start on a machine compiles the physics."""
STOP_SECONDS = 30.0


def build_dashboard() -> None:
    """Build it unless it is newer than its sources; workers of a parallel test run, and run_tests.sh, take turns."""
    with (ROOT / ".dashboard.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        inputs = [path for folder in ("src", "public") for path in (SOURCES / folder).rglob("*") if path.is_file()]
        inputs += [SOURCES / name for name in ("package-lock.json", "index.html", "docs.html", "vite.config.ts")]
        if BUILT.is_file() and BUILT.stat().st_mtime >= max(path.stat().st_mtime for path in inputs):
            return
        npm = shutil.which("npm")
        assert npm is not None, "the browser tests need Node.js 20 or later (npm) to build the dashboard"
        if not (SOURCES / "node_modules").is_dir():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=SOURCES, check=True, capture_output=True)
        subprocess.run([npm, "run", "build"], cwd=SOURCES, check=True, capture_output=True)


class ServedDashboard:
    """Starts when entered; can be stopped and started again on the same port and folder."""

    def __init__(self, folder: Path, port: int, *options: str, **environment: str) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._command = [*COMMAND, "--port", str(port), *options]
        self._environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite+aiosqlite:///{folder / 'history.db'}",
            "RATE_LIMIT": "100000/minute",
            "WRITE_RATE_LIMIT": "100000/minute",
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServedDashboard:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return once it answers and the race has begun."""
        log = (self._folder / "serve.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._races():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(f"hms serve ended, or raced nothing within {START_SECONDS} s:\n{self.log()}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Ask it to end; waits."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def log(self) -> str:
        """What it has written so far, the end of it."""
        return (self._folder / "serve.log").read_text(errors="replace")[-3000:]

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON at a path."""
        answer = httpx.get(self.address + path, params=parameters, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        """Post; the JSON of the answer."""
        answer = httpx.post(self.address + path, json=body or None, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def change(self, **settings: Any) -> Any:
        """Change live settings."""
        answer = httpx.patch(f"{self.address}/api/simulation/settings", json=settings, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def history(self, limit: int) -> list[dict[str, Any]]:
        """The latest tasks with their results, newest first, however many pages that takes."""
        items: list[dict[str, Any]] = []
        before: int | None = None
        while len(items) < limit:
            page = self.get(
                "/api/history/comparative",
                limit=min(1000, limit - len(items)),
                **({} if before is None else {"before": before}),
            )
            items += page["items"]
            before = page["next_cursor"]
            if before is None:
                break
        return items

    def _races(self) -> bool:
        try:
            return bool(self.get("/api/status")["tasks_processed"] > 0)
        except httpx.HTTPError:
            return False
