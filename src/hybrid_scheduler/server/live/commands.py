"""The engine's desk: takes commands, has the runner carry them out, answers when what was asked for is stored."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import orjson

from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.server.engine_port import EngineError
from hybrid_scheduler.server.live.link import COMMAND, REPLY, EngineLink, Message
from hybrid_scheduler.server.live.runner import Runner

WORDS = {"running": "The race is running.", "paused": "The race is paused.", "stopped": "The race is stopped."}


class _Waiting(NamedTuple):
    """A command that is answered once the store has done its part."""

    number: int
    future: Future[Any]
    answer: Callable[[Any], dict[str, Any]]
    patient: bool = True


class CommandDesk:
    """Answers commands in the order their answers are known.

    Attributes:
        told_to_end: Whether the web half wants the process to end.
        news: Whether the state may have changed since this was last set to False.
    """

    def __init__(self, link: EngineLink, runner: Runner) -> None:
        self._link, self._runner = link, runner
        self._waiting: list[_Waiting] = []
        self._replies: list[dict[str, Any]] = []
        self.told_to_end = self.news = False

    def take(self, messages: list[Message]) -> None:
        """Carry out what has come."""
        for message in messages:
            if message.kind == COMMAND:
                asked = orjson.loads(message.body)
                with _Refusals(self._replies, asked["number"]):
                    self._carry_out(asked["number"], asked["name"], asked["arguments"])

    def settle(self) -> None:
        """Answer commands whose part of the store is done."""
        for each in self._waiting[:]:
            done = each.future.done()
            if done or not (each.patient or self._runner.writer.available):
                self._waiting.remove(each)
                self.news = True
                with _Refusals(self._replies, each.number):
                    self._reply(each.number, each.answer(each.future.result() if done else None))

    def send_replies(self) -> None:
        """Send the answers; the status they led to must have been sent before, so that nobody sees an older one."""
        for reply in self._replies:
            self._link.send(REPLY, reply)
        self._replies.clear()

    def _carry_out(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        runner = self._runner
        self.news = True
        if name == "end":
            self.told_to_end = True
            return
        if runner.state in ("failed", "following"):
            raise _cannot(runner)
        if name in ("start", "pause", "resume"):
            getattr(runner, name)()
            self._reply(number, self._control_answer())
        elif name == "stop":
            self._wait(number, runner.stop(), lambda _: self._control_answer(), patient=False)
        elif name == "settings":
            self._reply(number, runner.change(arguments))
        elif name == "submit":
            stored, answer = runner.submit(arguments)
            self._wait(number, stored, lambda _: answer)
        elif name == "clear":
            self._wait(number, runner.clear(), self._cleared)
        else:
            raise EngineError(f"there is no command {name!r}", code="unknown_command", status=404)

    def _wait(
        self, number: int, future: Future[Any] | None, answer: Callable[[Any], dict[str, Any]], *, patient: bool = True
    ) -> None:
        if future is None:
            self._reply(number, answer(None))
        else:
            self._waiting.append(_Waiting(number, future, answer, patient))

    def _cleared(self, counts: dict[str, int]) -> dict[str, Any]:
        self._runner.cleared()
        return counts

    def _control_answer(self) -> dict[str, Any]:
        wanted, writer = self._runner.wanted, self._runner.writer
        waits = "" if writer.available else " The store does not answer; what has finished is stored once it does."
        return {
            "state": self._runner.state,
            "is_running": wanted == "running",
            "is_paused": wanted == "paused",
            "message": WORDS[wanted] + waits,
        }

    def _reply(self, number: int, answer: dict[str, Any]) -> None:
        self._replies.append({"number": number, "answer": answer})


class _Refusals:
    """Turns our errors into answers to one command."""

    def __init__(self, replies: list[dict[str, Any]], number: int) -> None:
        self._replies, self._number = replies, number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, HybridSchedulerError):
            return False
        code, status = "store_error", 503
        if isinstance(error, EngineError):
            code, status = error.code, error.status
        elif isinstance(error, InvalidInputError):
            code, status = "invalid_input", 422
        refusal = {"message": str(error), "code": code, "status": status}
        self._replies.append({"number": self._number, "refusal": refusal})
        return True


def _cannot(runner: Runner) -> EngineError:
    if runner.state == "following":
        return EngineError("the engine is following: another process runs it", code="not_owner", status=409)
    return EngineError(f"the engine has failed: {runner.writer.failed}", code="engine_failed")
