"""The queue of commands: the runner carries them out, and each is answered once its effect is stored."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

import orjson

from hybrid_scheduler.live.clearing import Clearing
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.link import COMMAND, REPLY, EngineLink, Message
from hybrid_scheduler.live.runner import Runner
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError

CLEAR_SECONDS = 20.0
BEGIN_SECONDS = 5.0
"""A submitted task waits so long for a run to begin before it is refused."""
LEARN_SECONDS = 20.0
"""Training on the labels in the store that takes longer is answered without its result, and goes on."""
STORE_SECONDS = 5.0
"""The store has so long to take a submitted task before the user gets an error."""
QUESTIONS = ("pulse", "waiting")
"""Commands that change nothing."""
WORDS = {"running": "The race is running.", "paused": "The race is paused.", "stopped": "The race is stopped."}


class _Waiting(NamedTuple):
    """A command that is answered once the store has done its part."""

    number: int
    future: Future[Any]
    answer: Callable[[Any], dict[str, Any]]
    patient: bool = True
    until: float = math.inf


class _Task(NamedTuple):
    """A submitted task; refused when no run has begun by `until`."""

    number: int
    arguments: dict[str, Any]
    until: float


class CommandQueue:
    """Answers commands in the order their answers are known.

    Args:
        link: To the web half.
        runner: Carries commands out.
        clear_seconds: Clearing that takes longer is answered with how far it is, and goes on.

    Attributes:
        end_requested: Whether the web half wants the process to end.
        changed: Whether the state may have changed since this was last set to False.
    """

    def __init__(self, link: EngineLink, runner: Runner, *, clear_seconds: float = CLEAR_SECONDS) -> None:
        self._link, self._runner, self._clear_seconds = link, runner, clear_seconds
        self._tasks: list[_Task] = []
        self._waiting: list[_Waiting] = []
        self._replies: list[dict[str, Any]] = []
        self.end_requested = self.changed = False

    def take(self, messages: list[Message]) -> int:
        """Carry out commands; returns how many messages came. Tasks that come together are put in together."""
        for message in messages:
            if message.kind != COMMAND:
                continue
            asked = orjson.loads(message.body)
            number, name, arguments = asked["number"], asked["name"], asked["arguments"]
            if name == "submit":
                self._tasks.append(_Task(number, arguments, time.monotonic() + BEGIN_SECONDS))
                continue
            self._submit()
            self.changed = self.changed or name not in QUESTIONS
            with _Refusals(self._replies, number):
                self._carry_out(number, name, arguments)
        self._submit()
        return len(messages)

    def _submit(self) -> None:
        """Put the tasks in that have come; while a run begins they wait for it."""
        if not self._tasks or (self._runner.is_beginning and time.monotonic() < self._tasks[0].until):
            return
        checked, self._tasks, self.changed = self._tasks, [], True
        group = []
        for task in checked:
            with _Refusals(self._replies, task.number):
                self._check_racing()
                self._runner.check_task(task.arguments)
                group.append(task)
        accepted = self._runner.submit([task.arguments for task in group]) if group else []
        until = time.monotonic() + STORE_SECONDS
        for task, (stored, answer) in zip(group, accepted, strict=True):
            self._waiting.append(_Waiting(task.number, stored, partial(_accepted, answer), until=until))

    def settle(self) -> None:
        """Answer commands that the store has finished, and those that have waited for it long enough."""
        self._runner.watch_clearing()
        self._runner.watch_lessons()
        self._submit()
        for command in self._waiting[:]:
            done, late = command.future.done(), time.monotonic() > command.until
            if done or late or not (command.patient or self._runner.writer.available):
                self._waiting.remove(command)
                self.changed = True
                with _Refusals(self._replies, command.number):
                    self._reply(command.number, command.answer(command.future.result() if done else None))

    def send_replies(self) -> None:
        """Send the answers; the status they led to must have been sent before, so that no caller sees an older one."""
        for reply in self._replies:
            self._link.send(REPLY, reply)
        self._replies.clear()

    def _carry_out(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        runner = self._runner
        if name == "end":
            self.end_requested = True
            return
        self._check_racing()
        if name in ("start", "pause", "resume"):
            getattr(runner, name)()
            self._reply(number, self._control_answer())
        elif name == "stop":
            self._wait(number, runner.stop(), lambda _: self._control_answer(), patient=False)
        elif name == "settings":
            self._reply(number, runner.change(arguments))
        elif name in QUESTIONS:
            self._reply(number, getattr(runner, name)(**arguments))
        elif name == "clear":
            clearing, until = runner.clear(), time.monotonic() + self._clear_seconds
            self._waiting.append(_Waiting(number, clearing.ended, lambda _: self._how_far(clearing), until=until))
        elif name == "learn":
            learner, until = arguments["scheduler"], time.monotonic() + LEARN_SECONDS
            answer = partial(_learned, learner)
            self._waiting.append(_Waiting(number, runner.learn(learner), answer, until=until))
        else:
            raise EngineError(f"there is no command {name!r}", code="unknown_command", status=404)

    def _check_racing(self) -> None:
        if self._runner.state in ("failed", "following"):
            raise _cannot(self._runner)

    def _wait(
        self, number: int, future: Future[Any] | None, answer: Callable[[Any], dict[str, Any]], *, patient: bool = True
    ) -> None:
        if future is None:
            self._reply(number, answer(None))
        else:
            self._waiting.append(_Waiting(number, future, answer, patient))

    def _how_far(self, clearing: Clearing) -> dict[str, Any]:
        self._runner.watch_clearing()  # after the answer no older figures may be seen
        return clearing.document()

    def _control_answer(self) -> dict[str, Any]:
        wanted, writer = self._runner.wanted, self._runner.writer
        problem = "" if writer.available else writer.problem or "the store does not answer"
        waits = (
            f" {problem[0].upper()}{problem[1:]}; what has finished is stored once it works again." if problem else ""
        )
        return {
            "state": self._runner.state,
            "is_running": wanted == "running",
            "is_paused": wanted == "paused",
            "message": WORDS[wanted] + waits,
        }

    def _reply(self, number: int, answer: dict[str, Any]) -> None:
        self._replies.append({"number": number, "answer": answer})


def _accepted(answer: dict[str, Any], stored: bool | None) -> dict[str, Any]:
    if not stored:
        raise EngineError(
            "the store has not taken the task yet, and may still do so; look at /api/health before you send it again",
            code="store_unavailable",
        )
    return answer


def _learned(learner: str, answer: dict[str, Any] | None) -> dict[str, Any]:
    message = f"{learner} is still being trained on the labels in the store; a notification says when it is done"
    return answer or {"scheduler_name": learner, "labels": None, "message": message}


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
