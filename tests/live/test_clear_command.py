"""Clearing by command: what has finished before goes, what comes later stays, and a long one is answered half-way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from databases import NewDatabase
from live_service import until

from hybrid_scheduler.live.clearing import Clearing
from hybrid_scheduler.live.command_queue import CommandQueue
from hybrid_scheduler.live.link import COMMAND, Message
from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.store import Cleared, RunRow, Store, StoreUnavailableError
from hybrid_scheduler.testing.store.samples import begin, sample, stored_numbers


@pytest.fixture
def writer(new_sqlite: NewDatabase) -> Iterator[Writer]:
    made = Writer(new_sqlite(), "me", lambda level, line: None)
    made.open()
    until(lambda: made.owned, "the lease")
    yield made
    made.close()


def begun(writer: Writer) -> RunRow:
    return writer.in_turn(lambda store: begin(store, 10_000)).result(10.0)


def test_what_was_queued_before_goes_and_what_comes_later_stays(writer: Writer) -> None:
    run = begun(writer)
    for first in range(0, 1000, 100):
        writer.put(sample(run, range(first, first + 100)))
    clearing = Clearing(writer)
    clearing.begin()
    writer.put(sample(run, range(1000, 1050)))
    assert clearing.ended.result(20.0).tasks == 1000
    assert clearing.settled
    assert clearing.document() == {"tasks": 1000, "results": 2000, "training": 1000, "runs": 0, "done": True}
    assert clearing.progress() == {"done": 1000, "total": 1000}
    assert writer.flush(10.0)
    assert writer.at_once(lambda store: stored_numbers(store, run)).result(10.0) == list(range(1000, 1050))


def test_a_clear_that_cannot_begin_says_so(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> Cleared:
        raise StoreUnavailableError("gone")

    monkeypatch.setattr(Store, "clear", refuse)
    clearing = Clearing(writer)
    clearing.begin()
    assert isinstance(clearing.ended.exception(10.0), StoreUnavailableError)
    assert not clearing.settled


def test_the_queue_moves_on_while_it_goes_on(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = {"open": False}

    async def slowly(store: Store, progress: Any) -> Cleared:
        progress(Cleared(3, 6, 3, 0), 9)
        while not gate["open"]:
            await asyncio.sleep(0.01)
        return Cleared(9, 18, 9, 1)

    monkeypatch.setattr(Store, "clear", slowly)
    clearing = Clearing(writer)
    clearing.begin()
    clearing.begin()
    until(lambda: clearing.settled, "its beginning")
    run = begun(writer)
    writer.put(sample(run, range(10)))
    assert writer.flush(10.0), "the queue waits for the end of it"
    assert writer.problem == "", "it may take its time"
    assert clearing.document() == {"tasks": 3, "results": 6, "training": 3, "runs": 0, "done": False}
    assert clearing.progress() == {"done": 3, "total": 9}
    gate["open"] = True
    assert clearing.ended.result(10.0) == Cleared(9, 18, 9, 1)


def test_a_long_one_is_answered_half_way() -> None:
    sent: list[dict[str, Any]] = []
    clearing = Clearing(SimpleNamespace())  # type: ignore[arg-type]
    runner = SimpleNamespace(
        clear=lambda: clearing,
        watch_clearing=lambda: None,
        watch_lessons=lambda: None,
        state="running",
        writer=SimpleNamespace(available=True),
    )
    link = SimpleNamespace(send=lambda _, reply: sent.append(reply))
    queue = CommandQueue(link, runner, clear_seconds=0.0)  # type: ignore[arg-type]
    ask = Message(COMMAND, orjson.dumps({"number": 7, "name": "clear", "arguments": {}}))
    queue.take([ask])
    until(lambda: (queue.settle(), queue.send_replies(), sent)[-1], "an answer", 5.0)  # type: ignore[func-returns-value]
    assert sent == [{"number": 7, "answer": {"tasks": 0, "results": 0, "training": 0, "runs": 0, "done": False}}]
