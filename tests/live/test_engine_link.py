"""The link between the two halves: nobody waits for somebody who does not read."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator

import orjson
import pytest
from live_service import children_of, until
from pydantic import SecretStr

from hybrid_scheduler.config import Config
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.live import live_engine
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.link import COMMAND, FRAME, LOG, REPLY, EngineLink, packed, read_message
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.model.errors import InvalidInputError


@pytest.fixture
def ends() -> Iterator[tuple[EngineLink, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = EngineLink(theirs)
        yield link, ours
        link.close(0.0)


def test_messages_come_whole_however_they_are_cut(ends: tuple[EngineLink, socket.socket]) -> None:
    link, web = ends
    sent = packed(COMMAND, {"number": 1}) + packed(COMMAND, {"number": 2})
    found = []
    for byte in range(len(sent)):
        web.sendall(sent[byte : byte + 1])
        found += link.poll(1.0)
    assert [orjson.loads(message.body)["number"] for message in found] == [1, 2]
    assert link.poll(0.0) == []


def test_a_web_half_that_reads_nothing_holds_nobody_up(ends: tuple[EngineLink, socket.socket]) -> None:
    link, web = ends
    began = time.monotonic()
    for _ in range(2000):
        link.send(FRAME, {"text": "x" * 5000})
    link.send(LOG, {"level": "info", "message": "a line"})
    link.send(REPLY, {"number": 9})
    assert time.monotonic() - began < 30.0

    async def read() -> list[bytes]:
        reader, writer = await asyncio.open_connection(sock=web.dup())
        kinds = []
        while (message := await asyncio.wait_for(read_message(reader), 10)).kind != REPLY:
            kinds.append(message.kind)
        writer.close()
        return kinds

    kinds = asyncio.run(read())
    assert kinds.count(FRAME) < 500, "old frames are left out"
    assert kinds[-1] == LOG, "lines of the log are not"


def test_the_engine_notices_that_the_web_half_is_gone(ends: tuple[EngineLink, socket.socket]) -> None:
    link, web = ends
    web.close()
    assert link.poll(1.0) == []
    assert link.closed
    link.send(REPLY, {"number": 1})
    link.close()


def children() -> set[int]:
    return set(children_of(os.getpid()))


def test_a_mistake_in_the_plan_leaves_no_process_behind() -> None:
    before = children()
    settings = ServiceSettings(_env_file=None, database_url=SecretStr("sqlite+aiosqlite:////nowhere/x.db"))
    with pytest.raises(InvalidInputError, match="mixed"):
        live_engine(settings, LiveStart(Config(), ("greedy",), preset="mixd"))
    until(lambda: children() <= before, "its end")


def test_an_engine_that_is_not_there_yet_says_so() -> None:
    settings = ServiceSettings(_env_file=None, database_url=SecretStr("sqlite+aiosqlite:////nowhere/x.db"))
    before = children()

    async def use() -> None:
        engine = live_engine(settings, LiveStart(Config(), ("greedy",)))
        assert engine.status()["state"] == "starting"
        assert engine.health()["status"] == "down"
        with pytest.raises(EngineError, match="try again"):
            await engine.command("pause")
        await engine.close()

    asyncio.run(use())
    until(lambda: children() <= before, "its end")
