"""Attacks on the store: it grows, its disk is full, it is locked, damaged, incomplete, and the clock jumps."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from live_service import LIGHT, LiveService, is_alive, until
from store import SCHEDULERS, batch_of

from hybrid_scheduler.store import open_store

SMALL_DISK = 20
"""Megabytes."""
KEPT = 16
"""The least that `RETENTION_MB` allows."""


def check_retention_keeps_it_small(folder: Path) -> str:
    """The race goes on flat out and the store stays within RETENTION_MB, on the disk, while its trends count all."""
    largest = 0.0
    with served(folder, folder / "store.db", RETENTION_MB=str(KEPT)) as live:
        live.change(flat_out=True)
        while live.status()["store"]["stored_tasks"] < 40_000:
            largest = max(largest, taken(folder / "store.db"))
            time.sleep(0.05)
        live.change(speed=1.0)
        live.control("stop")
        time.sleep(1.0)
        largest = max(largest, taken(folder / "store.db"))
        ((left,),) = live.rows("SELECT count(*) FROM tasks")
        ((counted,),) = live.rows("SELECT sum(tasks) FROM hourly_means WHERE scheduler_name = 'oracle'")
        live.check_whole()
    assert largest <= KEPT, f"{largest:.1f} MB are more than {KEPT}"
    assert counted >= 40_000 > left, f"{counted} tasks in the trends, {left} left"
    return f"{counted} tasks raced, {left} left, at most {largest:.1f} of {KEPT} MB"


def check_a_full_disk(folder: Path) -> str:
    """A disk of 20 MB fills: the engine waits, health says so, clearing works, it goes on, nothing accepted is lost."""
    with small_disk(folder) as disk, served(folder / "live", disk / "store.db") as live:
        live.change(flat_out=True)
        accepted = submit_until_it_waits(live)
        fill(disk)
        health = until(lambda: unhealthy(live), "503 from health", 10.0)
        assert "full" in health, health
        pending = {task for (task,) in live.rows("SELECT task_id FROM submitted_tasks")}
        assert accepted <= set(live.stored()) | pending, "accepted tasks are neither stored nor waiting"
        cleared = live.client.delete("/api/history")
        assert cleared.status_code == 200, cleared.text
        (disk / "filler").unlink()
        live.wait_for("running")
        live.change(speed=20.0)
        until(lambda: pending <= set(live.stored()), "the tasks that were waiting")
        assert live.client.get("/api/health").status_code == 200
        live.end()
        assert "Traceback" not in live.log()
    return (
        f"{cleared.json()['tasks']} tasks cleared; of {len(accepted)} accepted {len(pending)} were waiting, none lost"
    )


def check_the_command_line_clears_a_full_disk(folder: Path) -> str:
    """`hms db clear` on a disk without a byte left, and the service starts again after it."""
    with small_disk(folder) as disk:
        with served(folder / "live", disk / "store.db") as live:
            live.change(flat_out=True)
            live.wait_for("waiting_for_store", 120.0)
            fill(disk)
            kill_both(live)
        command = [sys.executable, "-m", "hybrid_scheduler", "db", "clear", "--yes"]
        environment = {**os.environ, "DATABASE_URL": f"sqlite+aiosqlite:///{disk}/store.db"}
        began = time.monotonic()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seconds, size = time.monotonic() - began, taken(disk / "store.db")
        assert size < 2.0, f"{size:.1f} MB are left"
        with served(folder / "live", disk / "store.db") as live:
            live.wait_for_tasks(1)
    return f"{done.stdout.strip()} in {seconds:.1f} s, {size:.1f} MB left"


def check_a_long_history_is_cleared_in_steps(folder: Path) -> str:
    """Clearing 100 MB while the race goes on: tasks are accepted meanwhile, and neither file nor log stays large."""
    file = folder / "store.db"
    asyncio.run(make_history(file, 60_000))
    before, slowest, largest_log = taken(file), 0.0, 0.0
    with served(folder, file) as live, ThreadPoolExecutor(1) as background:
        clearing = background.submit(httpx.delete, f"{live.client.base_url}/api/history", timeout=40.0)
        while not clearing.done():
            began = time.monotonic()
            assert live.submit().status_code == 201
            slowest = max(slowest, time.monotonic() - began)
            largest_log = max(largest_log, Path(f"{file}-wal").stat().st_size / 1e6)
        answer = clearing.result()
        assert (answer.status_code, answer.json()["done"]) == (200, True), answer.text
        live.end()
    assert largest_log < 20, f"the log had {largest_log:.0f} MB"
    assert taken(file) < 10, f"{taken(file):.0f} MB are left"
    assert slowest < 2.0, f"a task waited {slowest:.1f} s"
    return f"{before:.0f} MB gone, log at most {largest_log:.1f} MB, a task waited at most {slowest * 1e3:.0f} ms"


def check_a_locked_store(folder: Path) -> str:
    """Another program locks the store: health says so within seconds, and everything goes on when it lets go."""
    with served(folder, folder / "store.db") as live:
        live.change(speed=20.0)
        live.wait_for_tasks(20)
        with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            until(lambda: unhealthy(live), "503 from health", 15.0)
            seconds = time.monotonic() - began
            live.wait_for("waiting_for_store")
            health = unhealthy(live)
            assert "locked" in health, health
            assert live.submit().status_code == 503
            other.execute("ROLLBACK")
        live.wait_for("running")
        until(lambda: not unhealthy(live), "200 from health", 10.0)
        assert live.submit().status_code == 201
        live.end()
        live.check_whole()
        assert "Traceback" not in live.log()
    return f"said after {seconds:.1f} s: {health}"


def check_a_damaged_file(folder: Path) -> str:
    """Garbage is written over the store: 503 and the reason from health and for tasks, and never a traceback."""
    file = folder / "store.db"
    with served(folder, file) as live:
        live.change(flat_out=True)
        live.wait_for_tasks(3000)
        live.change(speed=20.0)
        with file.open("r+b") as handle:
            for page in range(3, file.stat().st_size // 4096):
                handle.seek(4096 * page)
                handle.write(random.Random(page).randbytes(4096))
        health = until(lambda: unhealthy(live), "503 from health", 30.0)
        assert "damaged" in health, health
        refused = live.submit()
        assert refused.status_code == 503, refused.text
        history = live.client.get("/api/history/comparative")
        assert history.status_code in (200, 503), history.text  # the newest pages may still be in memory
        assert "Traceback" not in live.log()
    return health


def check_a_missing_table(folder: Path) -> str:
    """A table is dropped: health and refused tasks name it."""
    with served(folder, folder / "store.db") as live:
        live.change(speed=20.0)
        live.wait_for_tasks(5)
        with closing(sqlite3.connect(folder / "store.db", timeout=20)) as other:
            other.execute("DROP TABLE training_data")
        health = until(lambda: unhealthy(live), "503 from health", 30.0)
        assert "training_data" in health, health
        live.wait_for("waiting_for_store")
        refused = live.submit()
        assert (refused.status_code, "training_data" in refused.text) == (503, True), refused.text
        assert "Traceback" not in live.log()
    return health


def check_a_lease_from_the_future(folder: Path) -> str:
    """The clock is set back by an hour after the owner of the race has died: the next one need not wait for it."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    async def use() -> None:
        nonlocal now
        async with await open_store(f"sqlite:///{folder}/store.db", clock=lambda: now) as store:
            assert await store.acquire_lease("dead", 5.0)
            assert not await store.acquire_lease("next", 5.0)
            now -= timedelta(hours=1)
            assert await store.acquire_lease("next", 5.0), "nobody owns the race for an hour"

    asyncio.run(use())
    return "taken over at once"


def check_nobody_else_reads_it(folder: Path) -> str:
    """Store, log and reserve are for their user alone, and so is the folder that is made for them."""
    place = folder / "new"
    with served(folder / "live", place / "store.db"):
        modes = {path.name: f"{path.stat().st_mode & 0o777:o}" for path in (place, *place.iterdir())}
    assert modes.pop("new") == "700", modes
    assert set(modes.values()) == {"600"}, modes
    return ", ".join(sorted(modes))


@contextmanager
def served(folder: Path, file: Path, **environment: str) -> Iterator[LiveService]:
    """A running service of light schedulers on an SQLite file."""
    live = LiveService(folder, f"sqlite+aiosqlite:///{file}", "--schedulers", ",".join(LIGHT), **environment)
    try:
        yield live.start()
    finally:
        if live._process is not None:
            kill_both(live)
        live.close()


def kill_both(live: LiveService) -> None:
    """End server and engine at once; without a store the engine would try for a while to put its results away."""
    engine = until(lambda: live.engine_id, "an engine")
    live.kill()
    os.kill(engine, signal.SIGKILL)
    until(lambda: not is_alive(engine), "the end of the engine")


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, of a few megabytes; needs root."""
    assert os.geteuid() == 0, "a small file system can only be mounted by root; run this check as root"
    place = folder / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}m", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        # A process that was killed holds its files for a moment longer than it is seen.
        until(lambda: subprocess.run(["umount", place], check=False, capture_output=True).returncode == 0, "umount")


def submit_until_it_waits(live: LiveService) -> set[int]:
    """Submit tasks until the engine waits for the store; gives those that were accepted."""
    accepted, body = set(), {"size": 700.0, "compute_intensity": 0.5, "memory_required": 20.0}
    until_then = time.monotonic() + 120.0
    with httpx.Client(base_url=live.client.base_url, timeout=3.0) as client:
        while live.status()["state"] != "waiting_for_store":
            assert time.monotonic() < until_then, "the disk never was full"
            try:
                answer = client.post("/api/tasks", json=body)
            except httpx.TimeoutException:
                continue
            if answer.status_code == 201:
                accepted.add(answer.json()["task"]["task_id"])
    assert accepted, "no task was accepted"
    return accepted


def fill(disk: Path) -> None:
    """Take what is left of a disk."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def taken(file: Path) -> float:
    """Megabytes of a store, all its files together."""
    found = 0
    for part in ("", "-wal", "-shm", "-reserve"):
        path = Path(f"{file}{part}")
        found += path.stat().st_size if path.exists() else 0
    return found / 1e6


def unhealthy(live: LiveService) -> str:
    """What health says of the store when it answers 503; empty when it does not."""
    answer = live.client.get("/api/health")
    return str(answer.json()["dependencies"]["store"]["message"]) if answer.status_code == 503 else ""


async def make_history(file: Path, tasks: int) -> None:
    async with await open_store(f"sqlite+aiosqlite:///{file}") as store:
        run = await store.begin_run("live", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=tasks)
        for first in range(0, tasks, 1000):
            await store.write(batch_of(run, first))
        await store.end_run(run.id, "finished")
