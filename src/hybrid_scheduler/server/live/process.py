"""The engine's process: turns the race, answers commands, sends live messages, keeps the learners."""

from __future__ import annotations

import signal
import socket
import time
import uuid
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillWaiting
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.engine.compare import node_facts
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.schedulers.colours import colour_of
from hybrid_scheduler.server.engine_port import EngineError
from hybrid_scheduler.server.live.link import COMMAND, FRAME, LOG, REPLY, STATUS, EngineLink
from hybrid_scheduler.server.live.models import LiveModel, note_saved, save_model
from hybrid_scheduler.server.live.plan import Plan
from hybrid_scheduler.server.live.session import Session
from hybrid_scheduler.server.live.writer import Writer
from hybrid_scheduler.server.live_start import LiveStart

TICK = 0.04
"""Seconds between two looks at the clock when nothing hurries."""
STATUS_EVERY = 0.5
RESERVE = 10**9
"""Task ids a live run reserves; what it does not use is given back when it ends."""
FLUSH_SECONDS = 20.0
LINES_PER_SECOND = 8


def main(connection: socket.socket, settings: ServiceSettings, start: LiveStart) -> None:
    """Run the engine until it is told to end or the web half is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the whole group; the web half says when to end
    link = EngineLink(connection)
    engine = Engine(link, settings, start)
    signal.signal(signal.SIGTERM, lambda *_: engine.end())
    engine.run()


class Engine:
    """One process's live engine; races only while it holds the lease."""

    def __init__(self, link: EngineLink, settings: ServiceSettings, start: LiveStart) -> None:
        self._link, self._settings = link, settings
        self._plan = Plan.of(start)
        self._writer = Writer(settings.database, f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}", self._say)
        self._session: Session | None = None
        self._wanted = "running"
        self._ending = False
        self._failed = ""
        self._seq = 0
        self._sent = self._told = self._saved = 0.0
        self._last_state = ""
        self._refits: dict[str, int] = {}
        self._lines: list[tuple[str, str]] = []
        self._waits: list[tuple[int, Future[Any], Any]] = []

    def end(self) -> None:
        """Leave the loop at the next turn."""
        self._ending = True

    def run(self) -> None:
        """The loop."""
        self._writer.open()
        try:
            while not (self._ending or self._link.closed or self._writer.failed):
                busy = self._turn()
                for message in self._link.poll(0.0 if busy else TICK):
                    if message.kind == COMMAND:
                        self._answer(orjson.loads(message.body))
                self._settle_waits()
        finally:
            self._close()

    # --- one turn -----------------------------------------------------------------------------------------------------

    def _turn(self) -> bool:
        """Race a little; returns whether there is more to do at once."""
        busy = False
        if self._writer.owned and self._session is None and self._wanted == "running":
            self._begin()
        session = self._session
        if session is not None and self.state == "running":
            turn = session.turn()
            if turn.finished:
                self._writer.put(turn.rows)
            busy = session.plan.flat_out or turn.finished > 0
            self._watch_learners(session)
        self._tell()
        return busy

    @property
    def state(self) -> str:
        """The state as the API says it."""
        if self._failed or self._writer.failed:
            return "failed"
        if not self._writer.owned:
            return "following" if self._writer.available else "waiting_for_store"
        if self._wanted == "stopped":
            return "stopped"
        if self._session is None:
            return "starting"
        if self._wanted == "paused":
            return "paused"
        return "waiting_for_store" if self._writer.full or not self._writer.available else "running"

    def _begin(self) -> None:
        """Begin a run: interrupted ones are closed, what users submitted to them is raced again."""
        plan = self._plan
        configuration = {"settings": plan.document(), "cluster": node_facts(plan.cluster, plan.physics)}

        async def begin(store: Any) -> tuple[Any, Any, Any]:
            await store.interrupt_live_runs()
            run = await store.begin_run(
                "live", seed=plan.seed, configuration=configuration, schedulers=plan.schedulers, reserve=RESERVE
            )
            saved = {name: await store.model_versions(10, name) for name in plan.schedulers}
            return run, saved, await store.submitted()

        run, saved, left = self._patiently(self._writer.ask(begin))
        self._session = Session(plan, run, saved, left, self._say)
        self._writer.stored = 0
        self._saved = time.monotonic()
        self._refits = {}
        self._say("info", f"run {run.id} begins: {', '.join(plan.schedulers)}")

    def _finish_run(self, status: str = "finished") -> None:
        """End the run: everything that has arrived finishes and is stored, learners are saved."""
        session, self._session = self._session, None
        if session is None:
            return
        turn = session.drain()
        if turn.finished:
            self._writer.put(turn.rows)
        self._save(session)
        if not self._writer.flush(FLUSH_SECONDS):
            self._say("error", f"{self._writer.waiting} finished tasks could not be stored: the store does not answer")
        summary = {entry["name"]: entry for entry in session.comparison()}
        ended = self._writer.ask(lambda store: store.end_run(session.run.id, status, {"schedulers": summary}))
        try:
            ended.result(FLUSH_SECONDS if self._writer.available else 0.1)
        except StillWaiting:
            ended.cancel()

    def _watch_learners(self, session: Session) -> None:
        for name, model in session.models.items():
            before, now = self._refits.get(name, model.learner.refits), model.learner.refits
            if now > before:
                rows = model.learner.figures().get("rows")
                samples = "" if rows is None else f" on {rows:.0f} samples"
                self._notify("info", f"{name} was retrained{samples}")
            self._refits[name] = now
        if time.monotonic() - self._saved >= self._settings.save_interval:
            self._save(session)

    def _save(self, session: Session) -> None:
        self._saved = time.monotonic()
        for name, model in session.models.items():
            try:
                path = save_model(Path(self._settings.model_folder), name, model)
            except OSError as error:
                self._say("error", f"{name} could not be saved: {error}")
                continue
            if path is not None:
                noted = self._writer.ask(note_saved(model, name, path))
                noted.add_done_callback(partial(_number, model))

    # --- commands -----------------------------------------------------------------------------------------------------

    def _answer(self, asked: dict[str, Any]) -> None:
        number, name, arguments = asked["number"], asked["name"], asked["arguments"]
        try:
            answer = self._carry_out(name, arguments)
        except EngineError as error:
            self._link.send(REPLY, _refusal(number, str(error), error.code, error.status))
        except InvalidInputError as error:
            self._link.send(REPLY, _refusal(number, str(error), "invalid_input", 422))
        else:
            if isinstance(answer, tuple):
                self._waits.append((number, *answer))
            else:
                self._reply(number, answer)

    def _carry_out(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "end":
            self._ending = True
            return {}
        if self.state in ("failed", "following"):
            raise EngineError(
                f"the engine is {self.state}: {self._failed or self._writer.failed or 'another process runs it'}",
                code="not_owner" if self.state == "following" else "engine_failed",
                status=409 if self.state == "following" else 503,
            )
        if name in ("start", "stop", "pause", "resume"):
            return self._control(name)
        if name == "settings":
            return self._change(arguments)
        if name == "submit":
            return self._submit(arguments)
        if name == "clear":
            return self._clear()
        raise EngineError(f"there is no command {name!r}", code="unknown_command", status=404)

    def _control(self, name: str) -> dict[str, Any]:
        if name == "start" or (name == "resume" and self._wanted == "paused"):
            if self._session is not None and self._wanted == "paused":
                self._session.resume()
            self._wanted = "running"
        elif name == "stop":
            self._finish_run()
            self._wanted = "stopped"
        elif name == "pause" and self._wanted == "running":
            if self._session is not None:
                self._session.pause()
            self._wanted = "paused"
        self._tell(force=True)
        wanted = self._wanted
        words = {"running": "The race is running.", "paused": "The race is paused.", "stopped": "The race is stopped."}
        return {
            "state": self.state,
            "is_running": wanted == "running",
            "is_paused": wanted == "paused",
            "message": words[wanted],
        }

    def _change(self, change: dict[str, Any]) -> dict[str, Any]:
        plan = self._plan.changed(Path(self._settings.trace_folder), **change)
        for name in plan.schedulers:
            plan.build(name)  # all of it must be possible before any of it is done
        other_racers = plan.schedulers != self._plan.schedulers
        self._plan = plan
        if other_racers:
            self._finish_run()
        elif self._session is not None:
            self._session.change(plan)
        self._tell(force=True)
        return plan.document()

    def _submit(self, task: dict[str, Any]) -> tuple[Future[Any], dict[str, Any]]:
        session = self._session
        if session is None:
            raise EngineError(
                "the race is stopped, so no task can be put into it; start it first", code="not_running", status=409
            )
        if not self._writer.available:
            raise EngineError("the store does not answer, so no task can be accepted", code="store_unavailable")
        first = session.run.first_task_id
        for parent in task["dependencies"]:
            if not 0 <= parent < first + session.tasks_seen:
                raise InvalidInputError(
                    f"dependency {parent} is not the id of a task; ids so far are below {first + session.tasks_seen}"
                )
        stored, answer = session.submit(**task)
        return self._writer.ask(lambda store: store.submit(stored)), answer

    def _clear(self) -> tuple[Future[Any], None]:
        async def clear(store: Any) -> dict[str, int]:
            before = await store.exact_counts()
            await store.clear()
            after = await store.exact_counts()
            tables = {"tasks": "tasks", "results": "scheduler_results", "training": "training_data", "runs": "runs"}
            return {word: before[table] - after[table] for word, table in tables.items()}

        self._writer.flush(2.0)
        if self._session is not None:
            self._session.figures.clear()
        self._notify("info", "the history was cleared")
        return self._writer.ask(clear), None

    def _settle_waits(self) -> None:
        """Answer commands that waited for the store."""
        for wait in [each for each in self._waits if each[1].done()]:
            self._waits.remove(wait)
            number, future, answer = wait
            error = future.exception()
            if error is not None:
                self._link.send(REPLY, _refusal(number, str(error), "store_error", 503))
            else:
                self._reply(number, future.result() if answer is None else answer)

    def _reply(self, number: int, answer: Any) -> None:
        self._link.send(REPLY, {"number": number, "answer": answer})

    # --- what people see ----------------------------------------------------------------------------------------------

    def _tell(self, *, force: bool = False) -> None:
        """Send status and live messages when they are due."""
        now, state = time.monotonic(), self.state
        changed = state != self._last_state
        self._last_state = state
        running = state == "running" and self._session is not None
        if force or changed or (running and now - self._sent >= 1.0 / self._settings.update_hz):
            if self._session is not None:
                self._session.look()
                lines = self._session.log_lines(max(1, int(LINES_PER_SECOND / self._settings.update_hz)))
                for line in lines if running else ():
                    self._link.send(FRAME, {"type": "log", "time": time.time(), "level": "info", "message": line})
            self._sent = now
            self._link.send(FRAME, self._update(state))
        if force or changed or now - self._told >= STATUS_EVERY:
            self._told = now
            self._link.send(STATUS, self._status(state))

    def _update(self, state: str) -> dict[str, Any]:
        self._seq += 1
        session = self._session
        update: dict[str, Any] = {
            "type": "simulation_update",
            "seq": self._seq,
            "state": state,
            "run_id": None,
            "simulated_time": 0.0,
            "tasks_processed": 0,
            "rates": {"arrival_rate": self._plan.rate, "tasks_per_second": 0.0},
            "settings": self._plan.document(),
            "task": None,
            "latest_results": {},
            "comparison": [],
            "lower_bound": dict.fromkeys(("avg_time", "avg_response", "avg_energy", "avg_cost")),
            "utilization": {},
            "learning": [],
        }
        if session is not None:
            task, results = session.latest()
            update |= {
                "run_id": session.run.id,
                "simulated_time": session.race.now,
                "tasks_processed": session.figures.finished,
                "rates": {"arrival_rate": self._plan.rate, "tasks_per_second": session.tasks_per_second()},
                "task": task,
                "latest_results": results,
                "comparison": session.comparison(),
                "lower_bound": session.figures.bounds.document(),
                "utilization": session.utilization(),
                "learning": [model.document(name) for name, model in session.models.items()],
            }
        return update

    def _status(self, state: str) -> dict[str, Any]:
        session, writer, wanted = self._session, self._writer, self._wanted
        message = self._failed or writer.failed
        if not writer.available:
            message = "The store does not answer; the engine waits and loses nothing."
        elif session is not None and session.held_back:
            message = f"{session.held_back} is so far behind that no task arrives until it catches up."
        racers = []
        if session is not None:
            for entry in session.comparison():
                name = entry["name"]
                racers.append(
                    {
                        "name": name,
                        "colour": colour_of(name),
                        "tasks": entry["tasks"],
                        "decisions": session.race.contestants[name].sim.decisions,
                        "unfinished": entry["unfinished"],
                        "overloaded": entry["overloaded"],
                    }
                )
        return {
            "state": state,
            "is_running": wanted == "running" and state != "failed",
            "is_paused": wanted == "paused",
            "owner": writer.owned,
            "tasks_processed": 0 if session is None else session.figures.finished,
            "simulated_time": 0.0 if session is None else session.race.now,
            "rates": {
                "arrival_rate": self._plan.rate,
                "tasks_per_second": 0.0 if session is None or state != "running" else session.tasks_per_second(),
            },
            "settings": self._plan.document(),
            "run": None
            if session is None
            else {
                "id": session.run.id,
                "seed": session.run.seed,
                "first_task_id": session.run.first_task_id,
                "started": session.run.started,
            },
            "schedulers": racers,
            "models": [] if session is None else [m.document(name) for name, m in session.models.items()],
            "store": {
                "kind": writer.backend,
                "waiting_tasks": writer.waiting,
                "available": writer.available,
                "stored_tasks": writer.stored,
            },
            "message": message,
            "version": version("hybrid-ml-scheduler"),
        }

    def _say(self, level: str, message: str) -> None:
        """A line for the log and for everybody who watches."""
        self._link.send(LOG, {"level": level, "message": message})
        self._link.send(FRAME, {"type": "log", "time": time.time(), "level": level, "message": message})
        if level != "info":
            self._link.send(FRAME, {"type": "notification", "level": level, "message": message})

    def _notify(self, level: str, message: str) -> None:
        self._link.send(FRAME, {"type": "notification", "level": level, "message": message})

    # --- the end ------------------------------------------------------------------------------------------------------

    def _patiently(self, future: Future[Any]) -> Any:
        """Wait for the store, but go on telling the state and stop waiting at the end."""
        while True:
            try:
                return future.result(0.1)
            except StillWaiting:
                if self._ending or self._link.closed:
                    future.cancel()
                    raise HybridSchedulerError("the engine ended before the store answered") from None
                self._tell()

    def _close(self) -> None:
        try:
            self._finish_run("finished" if not self._writer.failed else "failed")
        finally:
            self._writer.close()


def _number(model: LiveModel, done: Future[int]) -> None:
    if not done.cancelled() and done.exception() is None:
        model.version = done.result()


def _refusal(number: int, message: str, code: str, status: int) -> dict[str, Any]:
    return {"number": number, "refusal": {"message": message, "code": code, "status": status}}
