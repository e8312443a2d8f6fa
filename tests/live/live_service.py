"""A real `hms serve` in a process of its own, and what its store holds."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from databases import run_sql

LIGHT = ("round_robin", "greedy", "oracle")
"""A race that needs no learners' libraries and starts quickly."""
TASK = {"size": 900.0, "compute_intensity": 0.6, "memory_required": 40.0}
PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait for something true and give it back."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"in vain for {seconds:g} s: {what}"
        time.sleep(0.02)
    return found


class LiveService:
    """One server; `start` it again as often as you like, and `end` it at last.

    Args:
        folder: Its working folder: models, logs, traces.
        database: URL of its store.
        options: Of the command line.
        environment: More settings.
    """

    def __init__(self, folder: Path, database: str, *options: str, **environment: str) -> None:
        self.folder, self.database = folder, database
        self._options = options or ("--schedulers", ",".join(LIGHT))
        folder.mkdir(parents=True, exist_ok=True)
        passed = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        self._environment = {
            **passed,
            "DATABASE_URL": database,
            "RATE_LIMIT": "1000000/minute",
            "WRITE_RATE_LIMIT": "1000000/minute",
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(timeout=40.0)

    # --- its life

    def start(self, *, running: bool = True) -> LiveService:
        """Start it, and wait until it can be called (and until it races)."""
        output = self._output
        output.write_bytes(b"")
        command = [sys.executable, "-m", "hybrid_scheduler", "serve", "--port", "0", *self._options]
        with output.open("ab") as file:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment, stdout=file, stderr=file, start_new_session=True
            )
        self.client.base_url = until(self._address, f"an address from {command}: {output.read_text()}")
        if running:
            self.wait_for("running")
        return self

    def end(self) -> float:
        """SIGTERM; gives the seconds it took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        # The server raises the signal again when everything is put away.
        assert code in (0, -signal.SIGTERM), self.log()
        self._process = None
        return time.monotonic() - began

    def kill(self) -> None:
        """`kill -9` of the server alone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """After a test, however it went: nothing is left behind."""
        self.client.close()
        if self._process is not None:
            engine = self.engine_id
            self._process.kill()
            self._process.wait()
            if engine is not None:
                until(lambda: not is_alive(engine), "the end of an engine whose server is gone")

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def engine_id(self) -> int | None:
        """The process of its engine."""
        children = children_of(self.process_id)
        return next((child for child in children if "hybrid_scheduler.live" in _command(child)), None)

    def kill_engine(self) -> None:
        """`kill -9` of the engine alone; returns when it is gone."""
        engine = until(lambda: self.engine_id, "an engine")
        os.kill(engine, signal.SIGKILL)
        until(lambda: self.engine_id != engine, "its end")

    # --- what it says

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/api/status").json()
        return found

    def wait_for(self, state: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """Wait for a state; gives the status."""
        try:
            until(lambda: self.status()["state"] == state, f"state {state}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.status()['message']}\n{self.log()}") from error
        return self.status()

    def wait_for_tasks(self, count: int) -> dict[str, Any]:
        """Wait until so many tasks of the run are stored, as long as they become more."""
        stored = 0
        while stored < count:
            stored = until(partial(self._stored_beyond, stored), f"{stored} stored tasks, {count} wanted; {self.log()}")
        return self.status()

    def _stored_beyond(self, count: int) -> int:
        """How many tasks are stored, if they are more than so many; else 0."""
        stored: int = self.status()["store"]["stored_tasks"]
        return stored if stored > count else 0

    def control(self, name: str) -> dict[str, Any]:
        answer = self.client.post(f"/api/simulation/{name}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def change(self, **settings: Any) -> dict[str, Any]:
        answer = self.client.patch("/api/simulation/settings", json=settings)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def submit(self, **task: Any) -> httpx.Response:
        return self.client.post("/api/tasks", json=TASK | task)

    def log(self) -> str:
        return self._output.read_text()

    @property
    def _output(self) -> Path:
        return self.folder / "output.txt"

    def _address(self) -> str | None:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        found = re.search(r"^Dashboard: (\S+)$", self.log(), re.MULTILINE)
        return None if found is None else found[1]

    # --- what it stores

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Ask the database itself, past the code under test."""
        if self.database.startswith("postgresql"):
            return [tuple(row) for row in run_sql(self.database, statement)]
        connection = sqlite3.connect(self.database.partition(":///")[2], timeout=20)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def stored(self) -> dict[int, int]:
        """Every stored task and its run."""
        return dict(self.rows("SELECT task_id, run_id FROM tasks"))

    def check_whole(self, schedulers: tuple[str, ...] = LIGHT) -> dict[int, int]:
        """No task without all its results and its label, nothing twice; gives the tasks and their runs."""
        # One statement each: a running race stores more between two of them.
        results = self.rows(
            "SELECT tasks.task_id, run_id, COUNT(scheduler_name), COUNT(DISTINCT scheduler_name), "
            "MIN(scheduler_name), MAX(scheduler_name) "
            "FROM tasks LEFT JOIN scheduler_results ON scheduler_results.task_id = tasks.task_id "
            "GROUP BY tasks.task_id, run_id"
        )
        each = (len(schedulers), len(schedulers), min(schedulers), max(schedulers))
        assert [row for row in results if row[2:] != each] == []
        odd = self.rows(
            "SELECT tasks.task_id, COUNT(training_data.task_id) FROM tasks "
            "LEFT JOIN training_data ON training_data.task_id = tasks.task_id "
            "GROUP BY tasks.task_id HAVING COUNT(training_data.task_id) <> 1"
        )
        assert odd == []
        return {task: run for task, run, *_ in results}


NewLive = Callable[..., LiveService]


def children_of(process: int) -> list[int]:
    """The processes that a process has started; its threads may end meanwhile."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for thread in threads for child in _text(thread).split()]


def is_alive(process: int) -> bool:
    """Whether a process runs (a dead child that nobody has waited for does not)."""
    state = _text(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def _command(process: int) -> str:
    return _text(Path(f"/proc/{process}/cmdline"))


def _text(file: Path) -> str:
    """A file of a process, empty when that has just ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
