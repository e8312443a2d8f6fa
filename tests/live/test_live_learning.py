"""A real service with a learner: what it announced, what it counted and what its store holds are the same."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

from databases import NewDatabase
from live_service import NewLive, until
from websockets.sync.client import connect

ANNOUNCED = re.compile(r"hybrid_ml was retrained(?: (\d+) times)?: ")


def test_retrainings_are_announced_and_stored_as_they_are_counted(new_sqlite: NewDatabase, new_live: NewLive) -> None:
    live = new_live("live", new_sqlite(), "--schedulers", "greedy,hybrid_ml", "--preset", "gpu_favourable").start()
    address = str(live.client.base_url).replace("http", "ws")
    heard: list[dict[str, Any]] = []
    with connect(f"{address}/ws", max_size=None) as socket:
        threading.Thread(target=lambda: heard.extend(map(json.loads, socket)), daemon=True).start()
        live.change(flat_out=True)
        live.wait_for_tasks(300)
        live.change(preset="cpu_favourable")
        until(lambda: live.status()["models"][0]["refits"], "a refit after the shift")
        live.control("pause")
        (model,) = live.status()["models"]
        run = live.status()["run"]["id"]
        live.control("stop")
        last = until(lambda: live.client.get("/api/history/retrainings").json()["items"], "stored retrainings")[0]
        until(lambda: live.client.get(f"/api/runs/{run}").json()["status"] == "finished", "the end of the run")
        rows = live.rows(f"SELECT replaced, trees, tasks FROM retrainings WHERE run_id = {run}")
        until(lambda: sum(_announced(heard)) >= len(rows), "the announcements")
    assert len(rows) >= model["refits"] > 0, "what is under way at the end may add some"
    assert sum(_announced(heard)) == len(rows)
    assert all(0 < replaced <= trees for replaced, trees, _ in rows)
    assert (last["scheduler_name"], last["run_id"]) == ("hybrid_ml", run)
    (curve,) = live.client.get("/api/history/learning", params={"run_id": run}).json()
    assert curve["scheduler_name"] == "hybrid_ml"
    assert {"r2", "mae"} <= set(curve["points"][-1]["figures"])
    live.end()


def _announced(heard: list[dict[str, Any]]) -> list[int]:
    found = [ANNOUNCED.match(each["message"]) for each in list(heard) if each["type"] == "notification"]
    return [int(each[1] or 1) for each in found if each is not None]
