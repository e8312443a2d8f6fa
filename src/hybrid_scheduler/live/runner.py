"""Live runs in one process: begins them, advances the race, ends them, saves the learners."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.live.clearing import Clearing
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.learning_watch import LearningWatch
from hybrid_scheduler.live.lessons import Lessons
from hybrid_scheduler.live.models import note_saved, of_node, save_model
from hybrid_scheduler.live.notifier import Notifier
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.quarantine import NO_KERNEL, REASON, is_suspect, quarantined
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import MACHINE
from hybrid_scheduler.live.submissions import Submissions
from hybrid_scheduler.live.totals import Totals
from hybrid_scheduler.live.users_tasks import check_kernel, kernel_like
from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.model.errors import SchedulerError
from hybrid_scheduler.model.task import as_dependencies, split_dependencies
from hybrid_scheduler.store import LearningRow, ModelVersionRow, RetrainingRow, RunRow, Store, SubmittedTask
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

RESERVE = 10**9
"""Task ids a live run reserves; what it does not use is given back when it ends."""
SPARE = 10**6
LONGEST_RUN = 1e9
"""Simulated seconds after which a run ends and the next begins: a later clock could not tell short times apart."""
DRAIN_SECONDS, FLUSH_SECONDS = 5.0, 20.0
"""At the end of a run, for tasks to finish; at the end of the process, for results to be stored."""
MOST_WAITING = 15_000
"""While every scheduler has more unfinished tasks than this, no user's task is accepted."""
NO_LABELS = "this race is real work, and the labels in the store are the oracle's, of simulated nodes"
HURRIED, FEW = 8, 16
"""When more than `HURRIED` commands came together, the next turn races only `FEW` tasks, so that answers come soon."""

Begun = tuple[RunRow, dict[str, list[ModelVersionRow]], list[SubmittedTask]]


class Runner:
    """Races only while this process holds the lease, and waits whenever the store does not keep up.

    Attributes:
        plan: What the race is, or will be, made of.
        writer: Writes to the store.
        session: The present run; None between two runs.
        totals: What schedulers have done in all runs of this process.
        wanted: The state users asked for: `running`, `paused` or `stopped`.
        message: A note for users about the race; often empty.
        clearing: The history that is just being cleared, if it is.
    """

    def __init__(
        self, settings: ServiceSettings, plan: Plan, writer: Writer, notifier: Notifier, wake: Callable[[], None]
    ) -> None:
        self._settings, self._notifier = settings, notifier
        self.plan, self.writer = plan, writer
        self.message = ""
        self._submissions = Submissions(writer, wake)
        self.clearing: Clearing | None = None
        self._lessons = Lessons(writer, notifier)
        self._learn_at_start = settings.learn_from_store
        self.session: Session | None = None
        self.totals = Totals()
        self.wanted = "running"
        self._beginning: tuple[Plan, Future[Begun]] | None = None
        self._saved = 0.0
        self._learning: LearningWatch | None = None

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

    @property
    def is_beginning(self) -> bool:
        """Whether there is no run just now, but there will be one in a moment."""
        writer = self.writer
        ready = writer.owned and writer.available and not writer.failed
        return self.session is None and self.wanted != "stopped" and ready

    # --- one turn -----------------------------------------------------------------------------------------------------

    def turn(self, commands: int = 0) -> bool:
        """Race a little; returns whether there is more to do at once.

        Args:
            commands: How many commands came since the last turn.

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
        if not racing and session.race.at_rest:
            return False
        turn = session.turn(FEW) if commands > HURRIED else session.turn()
        if turn.finished:
            self.writer.put(turn.rows)
        self._watch_learners(session)
        if len(session.race.out) == len(session.race.contestants):
            self._end_without_racers()
        elif session.race.now > LONGEST_RUN or session.tasks_seen > RESERVE - SPARE:
            self._notifier.log("info", f"run {session.run.id} has lasted long enough: the next one begins")
            self.finish_run()
        return session.race.at_once or turn.finished > 0

    def _end_without_racers(self) -> None:
        """Every scheduler was taken out: stop until a user starts the race again."""
        self.message = "The race has stopped: every scheduler failed and was taken out. Start it for another try."
        self._notifier.log("error", self.message)
        self.wanted = "stopped"
        self.finish_run("failed")

    def _begin_run(self, plan: Plan) -> Any:
        """A call to the store: interrupted runs are closed, what users submitted to them is raced again."""
        settings = plan.document()
        configuration = {"node": settings["node"], "settings": settings, "cluster": plan.world.facts()}

        async def begin(store: Store) -> Begun:
            await store.interrupt_live_runs()
            run = await store.begin_run(
                "live", seed=plan.seed, configuration=configuration, schedulers=plan.schedulers, reserve=RESERVE
            )
            versions = {name: await store.model_versions(10, name) for name in plan.schedulers}
            saved = {name: of_node(rows, self._models(plan)) for name, rows in versions.items()}
            return run, saved, await store.submitted()

        return begin

    def _take_over_run(self, plan: Plan, begun: Future[Begun]) -> None:
        """Race the run that was asked for, as soon as the store has it; unless something else was asked for since."""
        if not begun.done():
            return
        self._beginning = None
        run, saved, left = begun.result()
        if self.wanted == "stopped" or plan.schedulers != self.plan.schedulers:
            self._end_unraced(begun)
            return
        suspects = [task for task in left if is_suspect(task)]
        racing = [task for task in left if not is_suspect(task)]
        unreal = [task for task in racing if plan.machine is not None and kernel_like(task) is None]
        for dropped, reason in ((suspects, REASON), (unreal, NO_KERNEL)):
            if dropped:
                ids = ", ".join(str(task.task_id) for task in dropped[:10])
                self._notifier.log("error", f"{len(dropped)} submitted tasks are not raced again ({ids}): {reason}")
                self.writer.put(quarantined(dropped, run.id, plan.schedulers, reason))
        racing = [task for task in racing if task not in unreal]
        self.session, self.message = Session(plan, run, saved, racing, self._notifier.log, self.totals), ""
        self.session.change(self.plan)
        self.writer.stored = 0
        self._saved = time.monotonic()
        if self._learn_at_start:
            self._learn_at_start = False
            if plan.machine is None:
                self._lessons.begin_all(self.session)
            else:
                self._notifier.log("warning", f"nobody learns from the store: {NO_LABELS}")
        self._learning = LearningWatch(self.session, partial(self._notifier.notify, "info"), self._keep_learning)
        self._notifier.log("info", f"run {run.id} begins: {', '.join(plan.schedulers)}")

    def _end_unraced(self, begun: Future[Begun]) -> None:
        """End a run that is no longer wanted; the store takes it in turn, so it has begun by then."""
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
        session.close()
        self._end_watch()
        self._save(session)
        summary = {"schedulers": {entry["name"]: entry for entry in session.comparison()}}
        return self.writer.in_turn(lambda store: store.end_run(session.run.id, status, summary))

    def give_up(self) -> None:
        """End a run that cannot go on as it is."""
        session, self.session = self.session, None
        if session is not None:
            session.close()
            self._end_watch()
            self.writer.in_turn(lambda store: store.end_run(session.run.id, "failed"))

    def close(self) -> None:
        """End the run, also one that has only been asked for, and wait until it is stored."""
        if self._beginning is not None:
            (_, begun), self._beginning = self._beginning, None
            self._end_unraced(begun)
        self.finish_run("failed" if self.writer.failed else "finished")
        if not self.writer.flush(FLUSH_SECONDS):
            reason = self.writer.failed or "the store does not answer"
            self._notifier.log("error", f"{self.writer.waiting} finished tasks could not be stored: {reason}")

    # --- learners -----------------------------------------------------------------------------------------------------

    def _watch_learners(self, session: Session) -> None:
        if self._learning is not None:
            self._learning.look()
        if time.monotonic() - self._saved >= self._settings.save_interval:
            self._save(session)

    def _end_watch(self) -> None:
        """Nothing the learners of a run did is left unsaid or unstored."""
        if self._learning is not None:
            self._learning.finish()
            self._learning = None

    def _keep_learning(self, retrainings: Sequence[RetrainingRow], figures: Sequence[LearningRow]) -> None:
        self.writer.in_turn(lambda store: store.note_learning(retrainings, figures))

    def _models(self, plan: Plan) -> Path:
        """Where learners are saved; those of real work apart, since what they know is of another node."""
        folder = Path(self._settings.model_folder)
        return folder if plan.machine is None else folder / MACHINE

    def _save(self, session: Session) -> None:
        self._saved = time.monotonic()
        for name, model in session.models.items():
            try:
                path = save_model(self._models(session.plan), name, model)
            except (OSError, SchedulerError) as error:
                self._notifier.log("error", f"{name} could not be saved: {error}")
                continue
            if path is not None:
                self.writer.in_turn(note_saved(model, name, path))

    # --- commands -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Race, from where it was paused or with a new run."""
        self.wanted, self.message = "running", ""

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

    def pulse(self, scheduler: str) -> dict[str, Any]:
        """How busy one scheduler's devices were since the run began; as in `PulseHistory`.

        Raises:
            EngineError: It does not race.
        """
        self._check_racer(scheduler)
        session, now = self.session, time.time()
        if session is None:
            return {"run_id": None, "now": now, "devices": [], "points": []}
        return {"run_id": session.run.id, "now": now, **session.pulse.document(scheduler)}

    def waiting(self, scheduler: str, limit: int, task_id: int | None = None) -> dict[str, Any]:
        """Who waits for one scheduler to start it; as in `WaitingRoom`.

        Raises:
            EngineError: It does not race.
        """
        self._check_racer(scheduler)
        if self.session is None:
            return {"run_id": None, "simulated_time": 0.0, "waiting": 0, "tasks": []}
        return self.session.waiting(scheduler, limit, task_id)

    def _check_racer(self, scheduler: str) -> None:
        if scheduler not in self.plan.schedulers:
            racing = ", ".join(self.plan.schedulers)
            raise EngineError(f"{scheduler!r} is not in the race; racing: {racing}", code="not_racing", status=404)

    def check_task(self, task: Mapping[str, Any]) -> None:
        """Refuse a user's task that cannot be put in now.

        Raises:
            EngineError: No task can be accepted, or not one that waits for a task there is not, or that cannot run.
            InvalidInputError: It is a kernel of a size that none has.
        """
        session = self.session
        if self.wanted == "stopped":
            raise EngineError(
                "the race is stopped, so no task can be put into it; start it first", code="not_running", status=409
            )
        self._need_store("no task can be accepted")
        if session is None:
            raise EngineError("the race is just beginning; try again in a moment", code="starting")
        if session.backlogs.least_unfinished > MOST_WAITING:
            raise EngineError(
                f"more than {MOST_WAITING} tasks are in the race and unfinished under every scheduler; try again later",
                code="race_behind",
            )
        if session.plan.machine is not None and task["kind"] is None:
            # The body is well-formed; it is the race that takes no such task, so this is no 422.
            raise EngineError(f"{NO_KERNEL}; give its kind ({', '.join(KERNEL_KINDS)})", code="no_kernel", status=409)
        check_kernel(task)
        known = session.run.first_task_id + session.tasks_seen
        for parent in split_dependencies(as_dependencies(task["dependencies"]))[0]:
            if not 0 <= parent < known:
                # The body is well-formed; it is the history that does not have the task, so this is no 422.
                raise EngineError(
                    f"dependency {parent} is not the id of a task; ids so far are below {known}: leave it out",
                    code="unknown_dependency",
                    status=409,
                )

    def submit(self, tasks: Sequence[Mapping[str, Any]]) -> list[tuple[Future[bool], dict[str, Any]]]:
        """Put checked tasks in; returns for each when it is stored, and the answer."""
        if self.session is None:
            return []
        return [(self._submissions.add(stored), answer) for stored, answer in self.session.submit(tasks)]

    def learn(self, name: str) -> Future[dict[str, Any]]:
        """Train a learner on the labels in the store while the race goes on; the future gets the answer.

        Raises:
            EngineError: There is no run, the store does not answer, or the scheduler does not learn from labels.
        """
        self._need_store("its labels cannot be read")
        if self.session is None:
            why = "is just beginning; try again in a moment" if self.is_beginning else "is stopped; start it first"
            raise EngineError(f"the race {why}", code="not_running", status=409)
        if self.session.plan.machine is not None:
            raise EngineError(NO_LABELS, code="no_labels", status=409)
        return self._lessons.begin(name, self.session)

    def watch_lessons(self) -> None:
        """Let learners go on with what they have learned from the store."""
        self._lessons.watch(self.session)

    def clear(self) -> Clearing:
        """Forget the history up to this moment; one that is under way goes on.

        Raises:
            EngineError: The store does not answer. A full disk does not matter, it is how room is made.
        """
        if not self.writer.disk_full:
            self._need_store("the history cannot be cleared")
        if self.clearing is None:
            self.clearing = Clearing(self.writer)
        if not self.clearing.settled:
            self.clearing.begin()
        return self.clearing

    def watch_clearing(self) -> None:
        """Reset the figures once it is settled what is cleared; notify clients when it is done."""
        clearing = self.clearing
        if clearing is None:
            return
        if clearing.settled and not clearing.noticed:
            clearing.noticed = True
            if self.session is not None:
                self.session.figures.clear()
            self.writer.stored = 0
        if clearing.ended.done():
            self.clearing = None
            error = clearing.ended.exception()
            if error is None:
                self._notifier.notify("info", "the history was cleared")
            else:
                self._notifier.log("error", f"the history could not be cleared: {error}")

    def _need_store(self, consequence: str) -> None:
        if not self.writer.available:
            why = self.writer.problem or "the store does not answer"
            raise EngineError(f"{why}, so {consequence}; try again later", code="store_unavailable")
