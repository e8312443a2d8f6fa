"""Killing servers in the middle of a flat-out run, and looking at what they leave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import httpx
from live_service import LIGHT, LiveService, until


class Submitter:
    """Puts tasks in, one after another, and remembers which were accepted; some wait for the one before."""

    def __init__(self, service: LiveService) -> None:
        self._service = service
        self.accepted: list[int] = []

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Submit in the background for a while."""
        done = threading.Event()
        thread = threading.Thread(target=self._submit_until, args=(done,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _submit_until(self, done: threading.Event) -> None:
        with httpx.Client(base_url=self._service.client.base_url, timeout=40.0) as client:
            body = {"size": 700.0, "compute_intensity": 0.5, "memory_required": 20.0}
            while not done.is_set():
                try:
                    answer = client.post("/api/tasks", json={**body, "dependencies": self.accepted[-1:]})
                except httpx.TransportError:
                    done.wait(0.02)
                    continue
                if answer.status_code == 201:
                    self.accepted.append(answer.json()["task"]["task_id"])
                else:
                    assert answer.status_code in (409, 503), answer.text
                    done.wait(0.02)


def survive(service: LiveService, submitter: Submitter, victim: str, tasks: int = 300) -> None:
    """Race flat out with tasks coming in, kill the server or its engine, and see it race again."""
    service.change(flat_out=True, load=0.05)
    before, accepted = service.status(), len(submitter.accepted)
    with submitter.busy():
        service.wait_for_tasks(before["store"]["stored_tasks"] + tasks)
        until(lambda: len(submitter.accepted) > accepted + 3, "accepted tasks")
        highest = max(service.stored())
        if victim == "server":
            service.kill()
        else:
            service.kill_engine()
    if victim == "server":
        service.start()
    until(lambda: (service.status()["run"] or {"id": 0})["id"] > before["run"]["id"], "a run after the kill")
    service.wait_for("running")
    first: int = service.status()["run"]["first_task_id"]
    assert first > highest, "ids go on"
    assert first > max(submitter.accepted)


def check_history(service: LiveService, submitter: Submitter, kills: int) -> None:
    """Once the server has ended: everything is whole, and everything accepted is there."""
    tasks = service.check_whole(LIGHT)
    assert set(submitter.accepted) <= set(tasks)
    assert len(submitter.accepted) == len(set(submitter.accepted))
    assert service.rows("SELECT COUNT(*) FROM submitted_tasks") == [(0,)]
    runs = service.rows("SELECT id, first_task_id, last_task_id, tasks, status FROM runs ORDER BY id")
    assert len(runs) == kills + 1
    assert runs[-1][4] == "finished"
    # A server that was killed leaves an engine that ends its run by itself; a killed engine does not.
    assert {status for *_, status in runs} <= {"finished", "interrupted"}
    for _, first, last, _, _ in runs:
        assert last is None or first <= last
    for earlier, later in pairwise(runs):
        assert later[1] > (earlier[1] if earlier[2] is None else earlier[2]), "ids of two runs overlap"
    counted = dict.fromkeys((run for run, *_ in runs), 0)
    for run in tasks.values():
        counted[run] += 1
    assert {run: stored for run, _, _, stored, _ in runs} == counted
