"""Several servers on one store: one of them races, another takes over when it dies, Redis lets all of them serve."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import Any

import httpx
from databases import NewDatabase
from live_service import LiveService, NewLive, until
from redis_server import RedisServer
from websockets.asyncio.client import connect


async def first_update(service: LiveService) -> dict[str, Any]:
    """A live update that was not waiting for a new client."""
    async with asyncio.timeout(20), connect(f"{str(service.client.base_url).replace('http', 'ws')}/ws") as socket:
        seen: set[int] = set()
        while True:
            message: dict[str, Any] = json.loads(await socket.recv())
            if message["type"] == "simulation_update":
                seen.add(message["seq"])
                if len(seen) > 1:
                    return message


def answers(follower: LiveService) -> bool:
    """Whether the owner can be reached through it; a command while the owner is not back yet is lost."""
    try:
        return follower.client.post("/api/resume", timeout=2.0).status_code == 200
    except httpx.ReadTimeout:
        return False


def test_one_races_and_another_takes_over(database_url: str, new_live: NewLive) -> None:
    owner = new_live("one", database_url).start()
    other = new_live("two", database_url).start(running=False)
    status = other.wait_for("following")
    assert not status["owner"]
    refusal = other.client.post("/api/simulation/pause")
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (409, "not_owner")
    owner.change(flat_out=True)
    owner.wait_for_tasks(300)
    accepted = owner.submit().json()["task"]["task_id"]
    assert [each["owner"] for each in (owner.status(), other.status())] == [True, False]
    # Both halves at once: nobody is left to give the lease back.
    began = time.monotonic()
    os.killpg(owner.process_id, signal.SIGKILL)
    owner.kill()
    other.wait_for("running")
    took = time.monotonic() - began
    assert took < 40, f"the other needed {took:.1f} s"
    assert other.status()["run"]["first_task_id"] > accepted
    until(lambda: accepted in other.stored(), "what the first had accepted")
    other.end()
    other.check_whole()
    assert other.rows("SELECT status FROM runs ORDER BY id") == [("interrupted",), ("finished",)]


def test_with_redis_the_follower_serves_everything(
    new_sqlite: NewDatabase, own_redis: RedisServer, new_live: NewLive
) -> None:
    url = new_sqlite()
    owner = new_live("one", url, REDIS_URL=own_redis.url).start()
    follower = new_live("two", url, REDIS_URL=own_redis.url).start(running=False)
    until(lambda: follower.status()["run"], "the owner's status")
    assert not follower.status()["owner"]
    assert follower.status()["run"] == owner.status()["run"]
    assert asyncio.run(first_update(follower))["run_id"] == 1
    assert follower.change(speed=30.0)["speed"] == 30.0
    assert owner.status()["settings"]["speed"] == 30.0
    task = follower.submit().json()["task"]["task_id"]
    until(lambda: task in owner.stored(), "the task")
    assert follower.control("pause")["state"] == "paused"
    assert owner.status()["is_paused"]
    wrong = follower.client.patch("/api/simulation/settings", json={"preset": "mixd"})
    assert wrong.status_code == 422
    follower.control("resume")

    own_redis.stop()
    for server in (owner, follower):
        health = until(
            lambda server=server: (h := server.client.get("/api/health")).json()["status"] == "degraded" and h,  # type: ignore[misc]
            "health",
        )
        assert health.status_code == 200
    stored = len(owner.stored())
    until(lambda: len(owner.stored()) > stored + 10, "a race without Redis")
    assert owner.submit().status_code == 201
    assert follower.submit().status_code == 409
    own_redis.start()
    until(lambda: answers(follower), "commands through Redis again")
    follower.end()
    owner.end()
    owner.check_whole()


def _freeze_between_transactions(engine: int, service: LiveService) -> None:
    """A paused engine still renews its lease and notes what learners did, and a frozen transaction locks others out."""
    open_for_long = "state LIKE 'idle in transaction%' AND now() - state_change > interval '0.3 seconds'"
    for _ in range(20):
        os.kill(engine, signal.SIGSTOP)
        time.sleep(0.5)
        where = f"WHERE datname = current_database() AND {open_for_long}"
        if service.rows(f"SELECT count(*) FROM pg_stat_activity {where}") == [(0,)]:
            return
        os.kill(engine, signal.SIGCONT)
        time.sleep(0.2)
    raise AssertionError("the engine is never between two transactions")


def test_an_owner_that_was_frozen_finds_itself_replaced(new_postgres: NewDatabase, new_live: NewLive) -> None:
    url = new_postgres()
    one = new_live("one", url).start()
    two = new_live("two", url).start(running=False)
    two.wait_for("following")
    one.wait_for_tasks(1)
    one.control("pause")  # so that it is not frozen in the middle of a transaction, with everybody else locked out
    engine = one.engine_id
    assert engine is not None
    _freeze_between_transactions(engine, one)
    try:
        two.wait_for("running")
    finally:
        os.kill(engine, signal.SIGCONT)
    until(lambda: one.engine_id not in (engine, None), "another engine in its place")
    one.wait_for("following")
    assert "another process has taken the engine over" in one.log()
    run = two.status()["run"]["id"]
    two.wait_for_tasks(2)
    assert two.status()["run"]["id"] == run
    one.end()
    two.end()
    two.check_whole()
    assert two.rows("SELECT status FROM runs ORDER BY id") == [("interrupted",), ("finished",)]
