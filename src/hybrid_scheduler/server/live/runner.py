"""The life of live runs in one process: begins them, turns the race, ends them, keeps the learners."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.engine.compare import node_facts
from hybrid_scheduler.server.engine_port import EngineError
from hybrid_scheduler.server.live.models import note_saved, save_model
from hybrid_scheduler.server.live.plan import Plan
from hybrid_scheduler.server.live.session import Session
from hybrid_scheduler.server.live.voice import Voice
from hybrid_scheduler.server.live.writer import Writer
from hybrid_scheduler.store import ModelVersionRow, RunRow, Store, SubmittedTask

RESERVE = 10**9
"""Task ids a live run reserves; what it does not use is given back when it ends."""
DRAIN_SECONDS, FLUSH_SECONDS = 5.0, 20.0
"""At the end of a run, for tasks to finish; at the end of the process, for results to be stored."""
NOTICE_SECONDS = 5.0
"""Between two notifications that a learner was retrained."""

Begun = tuple[RunRow, dict[str, list[ModelVersionRow]], list[SubmittedTask]]


class Runner:
    """Races only while this process holds the lease, and waits whenever the store does not keep up.

    Attributes:
        plan: What the race is, or will be, made of.
        writer: The door to the store.
        session: The present run; None between two runs.
        wanted: What people want: `running`, `paused` or `stopped`.
    """

    def __init__(self, settings: ServiceSettings, plan: Plan, writer: Writer, voice: Voice) -> None:
        self._settings, self._voice = settings, voice
        self.plan, self.writer = plan, writer
        self.session: Session | None = None
        self.wanted = "running"
        self._beginning: tuple[Plan, Future[Begun]] | None = None
        self._saved = 0.0
        self._refits: dict[str, int] = {}
        self._noticed: dict[str, float] = {}

    @property
    def state(self) -> str:
        """The state as the API says it."""
        writer = self.writer
        if writer.failed:
            return "failed"
        if not writer.owned:
            if not writer.available:
                return "waiting_for_store"
            return "following" if writer.asked else "starting"
        if self.wanted != "running":
            return self.wanted
        if not writer.available or writer.slow:
            return "waiting_for_store"
        return "starting" if self.session is None else "running"

    # --- one turn -----------------------------------------------------------------------------------------------------

    def turn(self) -> bool:
        """Race a little; returns whether there is more to do at once.

        Raises:
            HybridSchedulerError: The race cannot go on.
        """
        if self._beginning is not None:
            self._take_over_run(*self._beginning)
        elif self.session is None and self.writer.owned and self.wanted != "stopped":
            self._beginning = self.plan, self.writer.in_turn(self._begin_run(self.plan))
        session = self.session
        if session is None:
            return False
        racing = self.state == "running" and not self.writer.full
        session.keep_time(racing)
        if not racing:
            return False
        turn = session.turn()
        if turn.finished:
            self.writer.put(turn.rows)
        self._watch_learners(session)
        return session.plan.flat_out or turn.finished > 0

    def _begin_run(self, plan: Plan) -> Any:
        """What to ask the store: interrupted runs are closed, what users submitted to them is raced again."""
        configuration = {"settings": plan.document(), "cluster": node_facts(plan.cluster, plan.physics)}

        async def begin(store: Store) -> Begun:
            await store.interrupt_live_runs()
            run = await store.begin_run(
                "live", seed=plan.seed, configuration=configuration, schedulers=plan.schedulers, reserve=RESERVE
            )
            saved = {name: await store.model_versions(10, name) for name in plan.schedulers}
            return run, saved, await store.submitted()

        return begin

    def _take_over_run(self, plan: Plan, begun: Future[Begun]) -> None:
        """Race the run that was asked for, as soon as the store has it; unless people want something else by now."""
        if not begun.done():
            return
        self._beginning = None
        run, saved, left = begun.result()
        if self.wanted == "stopped" or plan.schedulers != self.plan.schedulers:
            self._end_unraced(begun)
            return
        self.session = Session(plan, run, saved, left, self._voice.say)
        self.session.change(self.plan)
        self.writer.stored = 0
        self._saved = time.monotonic()
        self._refits = {}
        self._voice.say("info", f"run {run.id} begins: {', '.join(plan.schedulers)}")

    def _end_unraced(self, begun: Future[Begun]) -> None:
        """End a run that nobody wants any more; the store takes it in turn, so it has begun by then."""
        self.writer.in_turn(lambda store: store.end_run(begun.result()[0].id, "finished"))

    def finish_run(self, status: str = "finished") -> Future[None] | None:
        """End the run: what has arrived finishes and is queued for the store, learners are saved.

        Returns:
            Done when all of it is stored; None when there is no run.
        """
        session, self.session = self.session, None
        if session is None:
            return None
        for turn in session.drain(DRAIN_SECONDS):
            if turn.finished:
                self.writer.put(turn.rows)
        self._save(session)
        summary = {"schedulers": {entry["name"]: entry for entry in session.comparison()}}
        return self.writer.in_turn(lambda store: store.end_run(session.run.id, status, summary))

    def give_up(self) -> None:
        """End a run that cannot go on as it is."""
        session, self.session = self.session, None
        if session is not None:
            self.writer.in_turn(lambda store: store.end_run(session.run.id, "failed"))

    def close(self) -> None:
        """End the run, also one that has only been asked for, and wait until it is stored."""
        if self._beginning is not None:
            (_, begun), self._beginning = self._beginning, None
            self._end_unraced(begun)
        self.finish_run("failed" if self.writer.failed else "finished")
        if not self.writer.flush(FLUSH_SECONDS):
            reason = self.writer.failed or "the store does not answer"
            self._voice.say("error", f"{self.writer.waiting} finished tasks could not be stored: {reason}")

    # --- learners -----------------------------------------------------------------------------------------------------

    def _watch_learners(self, session: Session) -> None:
        now = time.monotonic()
        for name, model in session.models.items():
            refits = model.learner.refits - self._refits.setdefault(name, model.learner.refits)
            if refits > 0 and now - self._noticed.get(name, 0.0) >= NOTICE_SECONDS:
                rows = model.learner.figures().get("rows")
                samples = "" if rows is None else f" on {rows:.0f} samples"
                times = "" if refits == 1 else f" {refits} times, lately"
                self._voice.notify("info", f"{name} was retrained{times}{samples}")
                self._noticed[name], self._refits[name] = now, model.learner.refits
        if now - self._saved >= self._settings.save_interval:
            self._save(session)

    def _save(self, session: Session) -> None:
        self._saved = time.monotonic()
        for name, model in session.models.items():
            try:
                path = save_model(Path(self._settings.model_folder), name, model)
            except OSError as error:
                self._voice.say("error", f"{name} could not be saved: {error}")
                continue
            if path is not None:
                self.writer.in_turn(note_saved(model, name, path))

    # --- what people want ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Race, from where it was paused or with a new run."""
        self.wanted = "running"

    def resume(self) -> None:
        """Race on if it is paused."""
        if self.wanted == "paused":
            self.wanted = "running"

    def pause(self) -> None:
        """Stand still, unless it is stopped."""
        if self.wanted == "running":
            self.wanted = "paused"

    def stop(self) -> Future[None] | None:
        """End the run; the future is as of `finish_run`."""
        self.wanted = "stopped"
        return self.finish_run()

    def change(self, change: dict[str, Any]) -> dict[str, Any]:
        """Change settings; answers with all of them as they are now.

        Raises:
            InvalidInputError: One of them is wrong; nothing has changed then.
        """
        plan = self.plan.changed(Path(self._settings.trace_folder), **change)
        for name in plan.schedulers:
            plan.build(name)  # all of it must be possible before any of it is done
        other_racers = plan.schedulers != self.plan.schedulers
        self.plan = plan
        if other_racers:
            self.finish_run()
        elif self.session is not None:
            self.session.change(plan)
        return plan.document()

    def submit(self, task: dict[str, Any]) -> tuple[Future[None], dict[str, Any]]:
        """Put a user's task in; returns when it is stored, and the answer.

        Raises:
            EngineError: No task can be accepted now, or not one that waits for a task there is not.
        """
        session = self.session
        if self.wanted == "stopped":
            raise EngineError(
                "the race is stopped, so no task can be put into it; start it first", code="not_running", status=409
            )
        self._need_store("no task can be accepted")
        if session is None:
            raise EngineError("the race is just beginning; try again in a moment", code="starting")
        known = session.run.first_task_id + session.tasks_seen
        for parent in task["dependencies"]:
            if not 0 <= parent < known:
                # The body is well-formed; it is the history that does not have the task, so this is no 422.
                raise EngineError(
                    f"dependency {parent} is not the id of a task; ids so far are below {known}: leave it out",
                    code="unknown_dependency",
                    status=409,
                )
        stored, answer = session.submit(**task)
        return self.writer.at_once(lambda store: store.submit(stored)), answer

    def clear(self) -> Future[dict[str, int]]:
        """Forget the history up to this moment; the future has how many rows of what went.

        Raises:
            EngineError: The store does not answer.
        """
        self._need_store("the history cannot be cleared")

        async def clear(store: Store) -> dict[str, int]:
            before = await store.exact_counts()
            await store.clear()
            after = await store.exact_counts()
            tables = {"tasks": "tasks", "results": "scheduler_results", "training": "training_data", "runs": "runs"}
            return {word: before[table] - after[table] for word, table in tables.items()}

        # Not patient: a history that vanishes minutes after somebody asked for it would be a surprise.
        return self.writer.in_turn(clear, patient=False)

    def cleared(self) -> None:
        """The history is gone: figures start anew."""
        if self.session is not None:
            self.session.figures.clear()
        self.writer.stored = 0
        self._voice.notify("info", "the history was cleared")

    def _need_store(self, consequence: str) -> None:
        if not self.writer.available:
            raise EngineError(f"the store does not answer, so {consequence}; try again later", code="store_unavailable")
