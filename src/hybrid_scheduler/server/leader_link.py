"""Links this process to the one that leads, i.e. runs the engine; Redis carries messages between server processes.

Every process subscribes to one channel. The process that owns the engine (the leader) sends live messages to its own
clients directly and publishes them for the other processes, so its clients do not notice when Redis comes and goes.
Another process that gets a command publishes it; the leader carries it out and publishes the answer.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
import uuid
from typing import Any

from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.background import BackgroundTasks
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.link_messages import (
    CHANNEL,
    Command,
    CommandAnswer,
    Frame,
    LinkMessage,
    OwnerStatus,
    Refusal,
    read_link_message,
)
from hybrid_scheduler.server.redis_link import REDIS_ERRORS, RedisLink
from hybrid_scheduler.server.timeouts import Timeouts

_LOG = logging.getLogger(__name__)

MOST_WAITING = 256
"""Messages that wait to be published; while Redis is slow the oldest are left out."""
LONGEST_PAUSE = 5.0
INVALID_INPUT = "invalid_input"


class LeaderLink:
    """The live race as this process sees it, whichever process runs the engine.

    Attributes:
        timeouts: How long to wait for the process that owns the engine; may be replaced at any time.
    """

    def __init__(self, engine: EnginePort, feed: Feed, link: RedisLink | None, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._engine, self._feed, self._link = engine, feed, link
        self._name = uuid.uuid4().hex
        self._outbox: asyncio.Queue[LinkMessage] = asyncio.Queue(MOST_WAITING)
        self._answers: dict[str, asyncio.Future[CommandAnswer]] = {}
        self._owner_status: tuple[float, dict[str, Any]] = (-math.inf, {})
        self._background = BackgroundTasks()

    async def open(self) -> None:
        """Begin to pass messages on."""
        self._engine.listen(self._from_engine)
        if self._link is not None:
            for work in (self._send_messages, self._read_messages, self._tell_status):
                self._background.start(work(self._link), f"leader-link{work.__name__}")

    async def close(self) -> None:
        """Stop."""
        await self._background.end()

    def status(self) -> dict[str, Any]:
        """The `Status` without what belongs to this process: the owner's where this process follows and knows it."""
        own = self._engine.status()
        if own["state"] == "following" and self.owner_is_known:
            return {**self._owner_status[1], "owner": False}
        return own

    @property
    def owner_is_known(self) -> bool:
        """Whether another process has said lately that it owns the engine."""
        return time.monotonic() - self._owner_status[0] < self.timeouts.status_kept

    async def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Have one command carried out, here or by the process that owns the engine.

        Raises:
            EngineError: The engine refused it or cannot be reached.
            InvalidInputError: The engine does not accept the arguments.
        """
        if self._engine.status()["state"] != "following":
            return await self._engine.command(name, **arguments)
        if self._link is None or not self._link.up:
            raise EngineError(
                "another server process runs the engine and this one cannot reach it; call that one, or let them "
                "share a Redis (REDIS_URL)",
                code="not_owner",
                status=409,
            )
        number = uuid.uuid4().hex
        message = Command.model_validate({"sender": self._name, "number": number, "name": name, "arguments": arguments})
        self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._post(message)
            async with asyncio.timeout(self.timeouts.command):
                return _result(await self._answers[number])
        except TimeoutError as error:
            raise EngineError(
                "the server process that runs the engine has not answered; try again", code="owner_silent"
            ) from error
        finally:
            del self._answers[number]

    # --- sending

    def _from_engine(self, frame: bytes) -> None:
        self._feed.publish(frame)
        if self._link is not None and self._link.up:
            self._post(Frame(sender=self._name, text=frame.decode()))

    def _post(self, message: LinkMessage) -> None:
        if self._outbox.full():
            self._outbox.get_nowait()
        self._outbox.put_nowait(message)

    async def _tell_status(self, link: RedisLink) -> None:
        while True:
            await asyncio.sleep(self.timeouts.status_interval)
            status = self._engine.status()
            if status["owner"] and link.up:
                self._post(OwnerStatus(sender=self._name, status=status))

    async def _send_messages(self, link: RedisLink) -> None:
        while True:
            message = await self._outbox.get()
            if link.up:
                try:
                    await link.client.publish(CHANNEL, message.model_dump_json())
                except REDIS_ERRORS as error:
                    link.lost(error)

    # --- receiving

    async def _read_messages(self, link: RedisLink) -> None:
        pause = 0.1
        while True:
            if link.up:
                try:
                    async with link.client.pubsub(ignore_subscribe_messages=True) as channel:
                        await channel.subscribe(CHANNEL)
                        pause = 0.1
                        while link.up:
                            received = await channel.get_message(timeout=1.0)
                            if received is not None:
                                self._receive(received["data"])
                except REDIS_ERRORS as error:
                    link.lost(error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _receive(self, data: bytes) -> None:
        try:
            message = read_link_message(data)
        except ValueError:
            _LOG.warning("something that is not ours was published on %s; left alone", CHANNEL)
            return
        if message.sender == self._name:
            return
        if isinstance(message, Frame):
            if not self._engine.status()["owner"]:
                self._feed.publish(message.text.encode())
        elif isinstance(message, OwnerStatus):
            self._owner_status = time.monotonic(), message.status
        elif isinstance(message, Command):
            if self._engine.status()["owner"]:
                self._background.start(self._carry_out(message))
        elif (waiting := self._answers.get(message.number)) is not None and not waiting.done():
            waiting.set_result(message)

    async def _carry_out(self, asked: Command) -> None:
        answer = CommandAnswer(sender=self._name, number=asked.number)
        try:
            answer.result = await self._engine.command(asked.name, **asked.arguments)
        except EngineError as error:
            answer.refusal = Refusal(message=str(error), code=error.code, status=error.status)
        except InvalidInputError as error:
            answer.refusal = Refusal(message=str(error), code=INVALID_INPUT, status=422)
        self._post(answer)


def _result(answer: CommandAnswer) -> dict[str, Any]:
    if answer.refusal is not None:
        if answer.refusal.code == INVALID_INPUT:
            raise InvalidInputError(answer.refusal.message)
        raise EngineError(answer.refusal.message, code=answer.refusal.code, status=answer.refusal.status)
    return answer.result or {}
