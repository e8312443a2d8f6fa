"""The database goes away under load, and comes back."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killing_rounds import Submitter
from live_service import LiveService, NewLive, until
from stoppable_postgres import StoppablePostgres


@pytest.fixture
def postgres() -> Iterator[StoppablePostgres]:
    folder = Path(tempfile.mkdtemp(prefix="hms-postgres-"))
    server = StoppablePostgres(folder)
    yield server
    server.close()
    shutil.rmtree(folder)


def check_no_gap(live: LiveService) -> None:
    tasks = live.check_whole()
    assert sorted(tasks) == list(range(len(tasks)))
    assert live.rows("SELECT tasks, status FROM runs") == [(len(tasks), "finished")]


def halts(live: LiveService) -> dict[str, Any] | None:
    """Its status, once half a second changes nothing more."""
    halted = live.status()
    time.sleep(0.5)
    return halted if live.status()["tasks_processed"] == halted["tasks_processed"] else None


def test_postgresql_stopped_under_load(postgres: StoppablePostgres, new_live: NewLive) -> None:
    live = new_live("live", postgres.url).start()
    live.change(flat_out=True, load=0.05)
    submitter = Submitter(live)
    live.wait_for_tasks(300)
    with submitter.busy():
        until(lambda: submitter.accepted, "an accepted task")
        postgres.stop()
        status = live.wait_for("waiting_for_store")
        assert not status["store"]["available"]
        assert "does not answer" in status["message"]
        health = live.client.get("/api/health")
        assert (health.status_code, health.json()["dependencies"]["store"]["status"]) == (503, "down")
        # Commands go on where they can, and say so where they cannot.
        assert live.submit().status_code == 503
        assert live.client.delete("/api/history").status_code == 503
        assert live.control("pause")["state"] == "paused"
        live.control("resume")
        halted = until(lambda: halts(live), "its halt")
        assert halted["store"]["waiting_tasks"] < 6000, "the queue is bounded"
        postgres.start()
        live.wait_for("running")
        live.wait_for_tasks(halted["store"]["stored_tasks"] + halted["store"]["waiting_tasks"] + 100)
    assert live.client.get("/api/health").status_code == 200
    assert live.status()["run"]["id"] == 1, "the same run goes on"
    live.end()
    check_no_gap(live)
    assert set(submitter.accepted) <= set(live.stored())
    log = live.log()
    assert "the store does not answer, the engine waits" in log
    assert "the store answers again" in log
    assert "Traceback" not in log


def test_stopped_without_a_store_it_ends_its_run_when_that_is_back(
    postgres: StoppablePostgres, new_live: NewLive
) -> None:
    live = new_live("live", postgres.url).start()
    live.wait_for_tasks(1)
    postgres.stop()
    live.wait_for("waiting_for_store")
    assert "stored once it works again" in live.control("stop")["message"]
    postgres.start()
    until(lambda: live.status()["store"]["available"], "the store")
    until(lambda: live.rows("SELECT status FROM runs") == [("finished",)], "the end of the run")
    live.control("start")
    live.wait_for("running")
    assert live.status()["run"]["id"] == 2
    live.end()
    live.check_whole()


def test_started_without_a_store_it_waits_for_one_and_can_be_ended(
    postgres: StoppablePostgres, new_live: NewLive
) -> None:
    postgres.stop()
    live = new_live("live", postgres.url).start(running=False)
    live.wait_for("waiting_for_store")
    assert live.end() < 15
    live.start(running=False)
    live.wait_for("waiting_for_store")
    postgres.start()
    live.wait_for("running")
    live.wait_for_tasks(1)
    live.end()
    live.check_whole()
