"""SIGKILLs at random moments, of the engine or the web process, and what is left; part of `benchmarks/killing.py`."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import httpx
from live_service import LiveService, until

BODY = {"size": 700.0, "compute_intensity": 0.5, "memory_required": 20.0}
LONGEST = 2.5
"""Most seconds between two kills."""
SCHEDULERS = ("greedy", "hybrid_ml", "oracle")


class Journal:
    """How many kills there were and which tasks were acknowledged, in a file, so that a run can go on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        kept = json.loads(file.read_text()) if file.exists() else {"kills": 0, "accepted": []}
        self.kills: int = kept["kills"]
        self.accepted: list[int] = kept["accepted"]

    def save(self) -> None:
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(json.dumps({"kills": self.kills, "accepted": self.accepted}))
        os.replace(unfinished, self._file)


def kill_at_random(folder: Path, kills: int, seed: int = 1) -> str:
    """Kill until there were so many kills in this folder, then look; says what was seen."""
    journal = Journal(folder / "journal.json")
    rng = random.Random(seed + journal.kills)
    database = f"sqlite+aiosqlite:///{folder}/store.db"
    service = LiveService(folder / "live", database, "--schedulers", ",".join(SCHEDULERS), "--speed", "50")
    began, done = time.monotonic(), threading.Event()
    poster = threading.Thread(target=_post, args=(service, journal, done))
    try:
        service.start(running=False)
        poster.start()
        while journal.kills < kills:
            time.sleep(rng.uniform(0.0, LONGEST))
            if rng.random() < 0.5:
                service.kill()
                service.start(running=False)
            elif (engine := service.engine_id) is not None:
                os.kill(engine, signal.SIGKILL)
            journal.kills += 1
            journal.save()
            if journal.kills % 50 == 0:
                print(f"  {journal.kills} kills, {len(journal.accepted)} accepted", flush=True)
        done.set()
        poster.join()
        service.wait_for("running")
        until(lambda: service.rows("SELECT count(*) FROM submitted_tasks") == [(0,)], "the end of accepted tasks", 120)
        service.end()
        return _looked_at(service, journal, time.monotonic() - began)
    finally:
        done.set()
        if poster.ident is not None:
            poster.join()
        service.close()


def _post(service: LiveService, journal: Journal, done: threading.Event) -> None:
    with httpx.Client(timeout=10.0) as client:
        while not done.is_set():
            try:
                answer = client.post(f"{service.client.base_url}/api/tasks", json=BODY)
            except httpx.HTTPError:
                done.wait(0.05)
                continue
            if answer.status_code == 201:
                journal.accepted.append(answer.json()["task"]["task_id"])
            done.wait(0.01)


def _looked_at(service: LiveService, journal: Journal, seconds: float) -> str:
    each = service.rows(
        "SELECT tasks.task_id, count(scheduler_name), count(DISTINCT scheduler_name) FROM tasks "
        "LEFT JOIN scheduler_results ON scheduler_results.task_id = tasks.task_id GROUP BY tasks.task_id"
    )
    half = [row for row in each if row[1:] != (len(SCHEDULERS), len(SCHEDULERS))]
    assert not half, f"half-written: {half[:5]}"
    stored = {row[0] for row in each}
    lost = set(journal.accepted) - stored
    assert not lost, f"acknowledged and lost: {sorted(lost)[:5]}"
    assert len(journal.accepted) == len(set(journal.accepted)), "an id was given twice"
    ((orphans,),) = service.rows(
        "SELECT count(*) FROM scheduler_results WHERE task_id NOT IN (SELECT task_id FROM tasks)"
    )
    assert orphans == 0, f"{orphans} results without a task"
    ((odd,),) = service.rows("SELECT count(*) FROM runs WHERE status = 'running'")
    assert odd == 0, f"{odd} runs never ended"
    ((suspects,),) = service.rows(
        "SELECT count(DISTINCT task_id) FROM scheduler_results WHERE reason LIKE 'quarantined%'"
    )
    return (
        f"{journal.kills} kills in {seconds / 60:.0f} min: all {len(journal.accepted):,} acknowledged tasks are among "
        f"{len(stored):,} stored ones, each with every result ({suspects} quarantined after two crashes in a row)"
    )
