"""The waiting room of a running race, as the service answers it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from live_service import LiveService, until


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """More tasks come than can be done."""
    folder = tmp_path_factory.mktemp("crowd")
    options = ("--schedulers", "sjf,mct", "--load", "3", "--speed", "5")
    service = LiveService(folder, f"sqlite+aiosqlite:///{folder}/live.db", *options)
    try:
        yield service.start()
    finally:
        service.close()


def waiting(service: LiveService, scheduler: str, **more: int) -> httpx.Response:
    return service.client.get("/api/simulation/waiting", params={"scheduler": scheduler, **more})


def test_it_lists_the_oldest_and_counts_the_rest(crowded: LiveService) -> None:
    def crowd() -> dict[str, Any] | None:
        found: dict[str, Any] = waiting(crowded, "sjf").json()
        return found if found["waiting"] > 50 and found["tasks"][0]["overtaken"] > 0 else None

    room = until(crowd, "a crowd")
    assert len(room["tasks"]) == 50 < room["waiting"]
    ready = [task["ready_time"] for task in room["tasks"]]
    assert ready == sorted(ready)
    for task in room["tasks"]:
        assert task["waited"] == pytest.approx(room["simulated_time"] - task["ready_time"])
        assert task["expected_start"] >= room["simulated_time"]
        assert "would finish it first" in task["reason"]


def test_who_decides_at_once_keeps_nobody_waiting(crowded: LiveService) -> None:
    room = waiting(crowded, "mct").json()
    assert (room["waiting"], room["tasks"]) == (0, [])


def test_one_task_can_be_asked_for(crowded: LiveService) -> None:
    crowded.control("pause")
    room = waiting(crowded, "sjf").json()
    oldest = room["tasks"][0]
    assert waiting(crowded, "sjf", task_id=oldest["task_id"]).json()["tasks"] == [oldest]
    assert waiting(crowded, "sjf", task_id=10**9).json() == {**room, "tasks": []}
    crowded.control("resume")


def test_who_does_not_race_has_no_room(crowded: LiveService) -> None:
    answer = waiting(crowded, "rl_agent")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_racing"
