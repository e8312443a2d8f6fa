"""One live run: a race, its clock, its learners and its figures. It makes rows for the store, and never calls it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.engine.live_data import Advance, Finished
from hybrid_scheduler.live.backlogs import Backlogs
from hybrid_scheduler.live.decision_log import DecisionLog
from hybrid_scheduler.live.figures import RunFigures
from hybrid_scheduler.live.models import LiveModel, load_models
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.live.placements import latest_results, placement_report, waiting_document
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.pulse import PulseSeries
from hybrid_scheduler.live.race import Race
from hybrid_scheduler.live.totals import Totals
from hybrid_scheduler.live.users_tasks import task_again, task_asked_for
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError, SchedulerError
from hybrid_scheduler.model.objective import ARGUMENTS
from hybrid_scheduler.model.task import Dependency, FloatArray, TaskBatch, as_dependencies, renumbered
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.store import (
    Batch,
    ModelVersionRow,
    ResultRow,
    RunRow,
    SubmittedTask,
    result_rows,
    task_row,
    training_row,
)

CHUNK = 64
"""Tasks raced between two looks at commands and clock."""


@dataclass(frozen=True)
class Turn:
    """What one turn of the engine brought."""

    rows: Batch
    finished: int


class Session:
    """A run from its first task to its last.

    Args:
        plan: How it runs.
        run: The stored run it belongs to.
        saved: Saved versions of each learner, newest first.
        resubmitted: Tasks users submitted to an earlier run that did not finish them; they keep their ids.
        log: Called with a level and a line for the log.
        totals: What it does is added to these; its own unless given.
    """

    def __init__(
        self,
        plan: Plan,
        run: RunRow,
        saved: dict[str, list[ModelVersionRow]],
        resubmitted: Sequence[SubmittedTask],
        log: Log,
        totals: Totals | None = None,
    ) -> None:
        self.plan, self.run, self._log = plan, run, log
        self._totals = Totals() if totals is None else totals
        schedulers = {name: plan.build(name) for name in plan.schedulers}
        self.models: dict[str, LiveModel] = load_models(
            schedulers, saved, plan.world, log, packaged=plan.machine is None
        )
        schedulers |= {name: model.learner for name, model in self.models.items()}
        self.race: Race = plan.race(schedulers, log)
        self.figures = RunFigures(plan.schedulers, plan.world)
        self._open_source(0.0)
        self.backlogs = Backlogs(self.race, log)
        self.decisions = DecisionLog(plan.schedulers)
        self.pulse = PulseSeries(plan.world.cluster.names)
        self._next = 0
        self._stored_ids: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._dependencies: dict[int, tuple[Dependency, ...]] = {}
        self._latest: Finished | None = None
        self._latest_id = 0
        self._marks: list[tuple[float, dict[str, float], dict[str, FloatArray]]] = []
        self._progress: list[tuple[float, int]] = []
        self.learning()  # what learners count from now on goes into the totals
        for task in resubmitted:
            try:
                self._resubmit(task)
            except InvalidInputError as error:  # accepted on another node
                log("warning", f"task {task.task_id}, submitted to an earlier run, is not raced again: {error}")

    @property
    def tasks_seen(self) -> int:
        """Tasks that have arrived in this run."""
        return self._next

    # --- time ---------------------------------------------------------------------------------------------------------

    def turn(self, most: int = CHUNK) -> Turn:
        """Race a little, as far as about so many tasks arrive or finish."""
        turn = self._finish(self.race.go_on(self, most))
        self.backlogs.check(np.inf if self.plan.flat_out else self.plan.speed, self.figures)
        return turn

    def next_arrival(self) -> float:
        """When the next task arrives."""
        return self.source.next_arrival()

    def take(self, until: float, most: int) -> TaskBatch | None:
        """Let tasks arrive in the race, as in `Stream`."""
        arrived = self.source.until(until, most, self._next)
        if arrived is None:
            return None
        self._next += len(arrived.tasks)
        first = self.run.first_task_id
        for child, parents in arrived.parents.items():
            self._dependencies[child] = renumbered(parents, lambda parent: first + parent)
        self.race.add(arrived.tasks, arrived.parents)
        return arrived.tasks

    def stand_still(self, until: float) -> None:
        """Let tasks arrive from a time on, as in `Stream`."""
        self.source.go_on_from(until)

    def drain(self, seconds: float) -> Iterator[Turn]:
        """Let what has arrived finish, for at most so many seconds; tells what is left over after that."""
        for advance in self.race.finish(seconds):
            yield self._finish(advance)
        self.learning()
        if left := max(self.race.unfinished().values()):
            self._log("warning", f"the run ends while {left} tasks are unfinished; submitted ones are raced again")

    def close(self) -> None:
        """End what the race is run with."""
        self.race.close()

    def keep_time(self, racing: bool) -> None:
        """Let the clock go while the race does, from where the race is, and stand still while it does not."""
        if self.race.keep_time(racing):
            self._progress.clear()
            self._marks.clear()

    def _open_source(self, now: float) -> None:
        """Take tasks from where the plan says; the log states what had to be assumed of a file."""
        self.source = self.plan.source(now)
        # What is said of drawn tasks is of a race with an end.
        for note in self.plan.scenario.notes if self.plan.trace is not None else ():
            self._log("info", note)

    def change(self, plan: Plan) -> None:
        """Take on another plan with the same schedulers."""
        now, old, self.plan = self.race.now, self.plan, plan
        if (plan.preset, plan.trace) != (old.preset, old.trace):
            self._open_source(now)
        elif plan.rate != old.rate:
            self.source.change_rate(plan.rate, now)
        self.race.pace(plan.speed, plan.flat_out)
        if plan.objective != old.objective:
            self._change_objective(plan)

    def _change_objective(self, plan: Plan) -> None:
        """Rebuild the learners with another objective; they keep what they have learned."""
        for name, model in self.models.items():
            renewed = plan.build(name)
            if isinstance(renewed, Learner) and not set(ARGUMENTS).isdisjoint(renewed.objective):
                try:
                    with named_failures(renewed):
                        copy_learned(model.learner, renewed)
                except SchedulerError as error:
                    self.race.take_out(name, str(error))
                model.learner = renewed
                self.race.replace(name, renewed)
        self.learning()

    # --- tasks --------------------------------------------------------------------------------------------------------

    def submit(self, wanted: Sequence[Mapping[str, Any]]) -> list[tuple[SubmittedTask, dict[str, Any]]]:
        """Put users' tasks (`TaskRequest`) in; returns for each what to store and the answer (`TaskAccepted`)."""
        first, now = self.run.first_task_id, datetime.now(UTC)
        tasks, parents = [], {}
        for asked in wanted:
            task = task_asked_for(asked, self._next, self.race.now)
            self._next += 1
            tasks.append(task)
            parents[task.task_id] = self._note_parents(task.task_id, as_dependencies(asked["dependencies"]))
        answers = []
        for task, asked, placements in zip(tasks, wanted, self.race.submit(tasks, parents), strict=True):
            row = task_row(task, self.run.id, first + task.task_id, as_dependencies(asked["dependencies"]))
            decisions = [
                placement_report(name, row.task_id, placement, self.race) for name, placement in placements.items()
            ]
            stored = SubmittedTask(*row[:5], row.dependencies, now)
            answers.append((stored, {"task": row._asdict(), "decisions": decisions}))
        return answers

    def _resubmit(self, task: SubmittedTask) -> None:
        """Race a task that was accepted by an earlier run, under its old id."""
        number = self._next
        self._next += 1
        self._stored_ids[number], self._numbers[task.task_id] = task.task_id, number
        taken = task_again(task, number, self.race.now)
        self.race.submit([taken], {number: self._note_parents(number, task.dependencies)})

    def _note_parents(self, number: int, dependencies: Sequence[Dependency]) -> tuple[Dependency, ...]:
        """The numbers in this run of the tasks one waits for, by their stored ids; those of earlier runs are over."""
        if dependencies:
            self._dependencies[number] = tuple(dependencies)
        first = self.run.first_task_id
        return renumbered(dependencies, lambda stored: self._numbers.get(stored, stored - first))

    def _finish(self, advance: Advance) -> Turn:
        self.figures.add(advance)
        self._totals.add(advance)
        finished = advance.finished
        first, run = self.run.first_task_id, self.run.id
        self.decisions.add(advance.by_scheduler, lambda number: self._stored_ids.get(number, first + number))
        ids = [self._stored_ids.pop(task.task_id, first + task.task_id) for task in finished.tasks]
        if self._numbers:
            for stored in ids:
                self._numbers.pop(stored, None)
        if ids:
            self._latest, self._latest_id = finished, ids[-1]
        tasks = [
            task_row(task, run, stored, self._dependencies.pop(task.task_id, ()))
            for task, stored in zip(finished.tasks, ids, strict=True)
        ]
        results = [
            row
            for name, outcomes in finished.outcomes.items()
            for row in _with_reasons(result_rows(outcomes, name, ids), finished, name)
        ]
        names = self.plan.world.cluster.names
        labelled = zip(finished.labels, ids, strict=True) if finished.labels else ()  # nobody knows those of real work
        training = [training_row(label, stored, names) for label, stored in labelled]
        return Turn(Batch(tasks, results, training), len(finished))

    # --- figures for clients ------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Sample what moving figures need; about twice a second."""
        self.figures.notice(self.race.waiting_seconds())
        now = time.monotonic()
        mark, lately = (now, self.race.raced_seconds(), self.race.busy_seconds()), self.race.lately
        self.pulse.add(time.time(), mark[1], mark[2])
        self._marks = [earlier for earlier in self._marks if now - earlier[0] < lately] + [mark]
        self._progress = [p for p in self._progress if now - p[0] < lately] + [(now, self.figures.finished)]

    def tasks_per_second(self) -> float:
        """Tasks finished per second of the clock, lately."""
        if len(self._progress) < 2:
            return 0.0
        (began, before), (ended, after) = self._progress[0], self._progress[-1]
        return max(after - before, 0) / max(ended - began, 1e-9)

    def comparison(self) -> list[dict[str, Any]]:
        """As in `SimulationUpdate`."""
        unfinished, waiting = self.race.unfinished(), self.race.waiting_tasks()
        return [
            {
                "name": name,
                **self.figures.means[name].document(),
                "unfinished": unfinished[name],
                "waiting": waiting[name],
                "overloaded": self.figures.overload[name].now,
                **self.backlogs.document(name),
            }
            for name in self.plan.schedulers
        ]

    def waiting(self, scheduler: str, limit: int, task_id: int | None) -> dict[str, Any]:
        """As in `WaitingRoom`, of one scheduler: the oldest, or one task alone by its stored id, if it waits."""
        race, first = self.race, self.run.first_task_id
        number = None if task_id is None else self._numbers.get(task_id, task_id - first)
        tasks = race.waiting_room(scheduler, limit, number)
        return {
            "run_id": self.run.id,
            "simulated_time": race.clock_of(scheduler),
            "waiting": race.waiting_tasks()[scheduler],
            "tasks": [
                waiting_document(
                    each, self._stored_ids.get(each.task.task_id, first + each.task.task_id), race.clock_of(scheduler)
                )
                for each in tasks
            ],
        }

    def utilization(self) -> dict[str, dict[str, Any]]:
        """Busy share of every device over the last seconds; nothing when no time has passed."""
        if len(self._marks) < 2:
            return {}
        (_, since, before), (_, now, after) = self._marks[0], self._marks[-1]
        names, utilization = self.plan.world.cluster.names, {}
        for name in self.plan.schedulers:
            seconds = now[name] - since[name]
            if not 0.0 < seconds < np.inf:
                continue
            shares = np.clip((after[name] - before[name]) / seconds, 0.0, 1.0).tolist()
            utilization[name] = {
                "average_utilization": sum(shares) / len(shares),
                **{device: {"utilization": share} for device, share in zip(names, shares, strict=True)},
            }
        return utilization

    def learning(self) -> list[dict[str, Any]]:
        """As in `ModelInfo`, of every learner; one that fails to give its figures is taken out of the race.

        What the learners have counted since the last call is added to the totals.
        """
        documents = []
        for name, model in self.models.items():
            try:
                with named_failures(model.learner):
                    self._totals.of(name).add_learned(model.learner)
                documents.append(model.document(name))
            except HybridSchedulerError as error:
                self.race.take_out(name, str(error))
        return documents

    def latest(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The task that finished last and what became of it."""
        if self._latest is None:
            return None, {}
        return latest_results(self._latest, self._latest_id)


def _with_reasons(rows: list[ResultRow], finished: Finished, name: str) -> list[ResultRow]:
    """The rows of one scheduler, with the reason where it never got to finish the task."""
    reasons = finished.reasons[name]
    if not reasons:
        return rows
    return [row._replace(reason=reasons.get(task.task_id)) for row, task in zip(rows, finished.tasks, strict=True)]


def copy_learned(old: Learner, new: Learner) -> None:
    """Copy what one learner has learned into another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{old.model_suffix}"
        try:
            old.save_model(path)
        except InvalidInputError:
            return  # it has learned nothing yet
        new.load_model(path)
