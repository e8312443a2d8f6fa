"""One live run: a race, its clock, its learners and its figures; knows the store only as a place to put rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.engine.live import Finished, LiveRace, Verdict
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.server.live.clock import Clock
from hybrid_scheduler.server.live.documents import latest_results, verdict_report
from hybrid_scheduler.server.live.figures import RunFigures
from hybrid_scheduler.server.live.models import LiveModel, load_models
from hybrid_scheduler.server.live.plan import Plan
from hybrid_scheduler.server.live.voice import Say
from hybrid_scheduler.store import Batch, ModelVersionRow, RunRow, SubmittedTask, result_rows, task_row, training_row

CHUNK = 64
"""Tasks raced between two looks at commands and clock."""
MOST_UNFINISHED = 20_000
"""When a scheduler has more unfinished tasks than this, arrivals are held back until it catches up."""
HELD_UNTIL = 18_000
DRAIN_STEPS = 64
WINDOW = 5.0
"""Utilization is over about so many seconds of the clock."""


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
        left: Tasks users submitted to an earlier run that did not finish them; they keep their ids.
        say: Told a level and a line for the log.
    """

    def __init__(
        self,
        plan: Plan,
        run: RunRow,
        saved: dict[str, list[ModelVersionRow]],
        left: Sequence[SubmittedTask],
        say: Say,
    ) -> None:
        self.plan, self.run, self._say = plan, run, say
        schedulers = {name: plan.build(name) for name in plan.schedulers}
        self.models: dict[str, LiveModel] = load_models(schedulers, saved, plan.cluster, plan.physics, say)
        schedulers |= {name: model.learner for name, model in self.models.items()}
        self.race = LiveRace(schedulers, plan.cluster, plan.physics, seed=plan.seed)
        self.figures = RunFigures(plan.schedulers, plan.cluster, plan.physics)
        self.clock = Clock(plan.speed)
        self.source = plan.source(0.0)
        self.held_back = ""
        self._next = 0
        self._stored_ids: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._dependencies: dict[int, tuple[int, ...]] = {}
        self._latest: Finished | None = None
        self._latest_id = 0
        self._marks: list[tuple[float, float]] = []
        self._progress: list[tuple[float, int]] = []
        for task in left:
            self._take(task)

    @property
    def tasks_seen(self) -> int:
        """Tasks that have arrived in this run."""
        return self._next

    # --- time ---------------------------------------------------------------------------------------------------------

    def turn(self) -> Turn:
        """Race what is due by the clock, at most a chunk of tasks."""
        race, plan = self.race, self.plan
        target = np.inf if plan.flat_out else self.clock.now()
        slowest, behind = max(race.unfinished().items(), key=lambda each: each[1])
        arrived = None
        if behind < (HELD_UNTIL if self.held_back else MOST_UNFINISHED):
            self.held_back = ""
            arrived = self.source.until(target, CHUNK, self._next)
        else:
            if not self.held_back:
                self._say("warning", f"{slowest} has {behind} unfinished tasks: no task arrives until it has fewer")
            self.held_back = slowest
            # The stream waits, simulated time goes on.
            target = min(target, race.now + CHUNK / plan.rate)
            self.source.change_rate(plan.rate, target)
        until = target
        if arrived is not None:
            self._next += len(arrived.tasks)
            first = self.run.first_task_id
            for child, parents in arrived.parents.items():
                self._dependencies[child] = tuple(first + parent for parent in parents)
            last = float(arrived.tasks.arrival_time[-1])
            race.add(arrived.tasks, arrived.parents)
            if len(arrived.tasks) == CHUNK or plan.flat_out:
                until = last
        if not np.isfinite(until):
            until = race.now
        if until < target and not plan.flat_out:
            self.clock.set(until)  # the race cannot keep up with the clock: the clock waits for it
        return self._finish(race.advance(max(until, race.now)))

    def drain(self, seconds: float) -> Iterator[Turn]:
        """Let what has arrived finish, for at most so many seconds; tells what is left over after that."""
        race, until = self.race, time.monotonic() + seconds
        ends = max(float(contestant.sim.state.free.max()) for contestant in race.contestants.values())
        # In steps, since learners learn from every task that finishes: thousands of them can take long.
        for step in np.linspace(race.now, max(ends, race.now), DRAIN_STEPS + 1)[1:]:
            if time.monotonic() > until:
                break
            yield self._finish(race.advance(float(step)))
        else:
            yield self._finish(race.drain())
        if left := max(race.unfinished().values()):
            self._say("warning", f"the run ends while {left} tasks are unfinished; submitted ones are raced again")

    def keep_time(self, racing: bool) -> None:
        """Let the clock go while the race does, from where the race is, and stand still while it does not."""
        if racing and not self.clock.goes:
            self.clock.set(self.race.now)
            self.clock.go()
            self._progress.clear()
            self._marks.clear()
        elif not racing and self.clock.goes:
            self.clock.stop()

    def change(self, plan: Plan) -> None:
        """Take on another plan with the same schedulers."""
        now, old, self.plan = self.race.now, self.plan, plan
        if (plan.preset, plan.trace) != (old.preset, old.trace):
            self.source = plan.source(now)
        elif plan.rate != old.rate:
            self.source.change_rate(plan.rate, now)
        if plan.speed != old.speed or plan.flat_out != old.flat_out:
            self.clock.set(now, plan.speed)
        if plan.weight != old.weight:
            self._care(plan)

    def _care(self, plan: Plan) -> None:
        """Give the learners another objective: rebuilt with it, they go on from what the old ones know."""
        for name, model in self.models.items():
            renewed = plan.build(name)
            if isinstance(renewed, Learner) and "energy_weight" in renewed.parameters():
                transplant(model.learner, renewed)
                self.race.contestants[name].scheduler = model.learner = renewed

    # --- tasks --------------------------------------------------------------------------------------------------------

    def submit(
        self, size: float, compute_intensity: float, memory_required: float, dependencies: Sequence[int]
    ) -> tuple[SubmittedTask, dict[str, Any]]:
        """Put a user's task in; returns what to store and the answer (`TaskAccepted`)."""
        first = self.run.first_task_id
        task = Task(self._next, size, compute_intensity, memory_required, self.race.now)
        self._next += 1
        verdicts = self._enter(task, dependencies)
        stored = SubmittedTask(
            first + task.task_id,
            self.run.id,
            size,
            compute_intensity,
            memory_required,
            tuple(dependencies),
            datetime.now(UTC),
        )
        answer = {
            "task": {**task_row(task, self.run.id, stored.task_id, dependencies)._asdict()},
            "decisions": [
                verdict_report(name, stored.task_id, verdict, self.race) for name, verdict in verdicts.items()
            ],
        }
        return stored, answer

    def _take(self, task: SubmittedTask) -> None:
        """Race a task that was accepted by an earlier run, under its old id."""
        number = self._next
        self._next += 1
        self._stored_ids[number], self._numbers[task.task_id] = task.task_id, number
        taken = Task(number, task.size, task.compute_intensity, task.memory_required, self.race.now)
        self._enter(taken, task.dependencies)

    def _enter(self, task: Task, dependencies: Sequence[int]) -> dict[str, Verdict | None]:
        """Put one task into the race; dependencies are stored ids, and those of earlier runs have finished."""
        if dependencies:
            self._dependencies[task.task_id] = tuple(dependencies)
        first = self.run.first_task_id
        return self.race.submit(task, [self._numbers.get(stored, stored - first) for stored in dependencies])

    def _finish(self, finished: Finished) -> Turn:
        self.figures.add(finished)
        first, run = self.run.first_task_id, self.run.id
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
        results = [row for name, outcomes in finished.outcomes.items() for row in result_rows(outcomes, name, ids)]
        names = self.plan.cluster.names
        training = [training_row(label, stored, names) for label, stored in zip(finished.labels, ids, strict=True)]
        return Turn(Batch(tasks, results, training), len(finished))

    # --- what people see ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Take the samples that moving figures need; about twice a second."""
        self.figures.notice(self.race.waiting_seconds())
        now = time.monotonic()
        self._marks = [mark for mark in self._marks if now - mark[0] < WINDOW] + [(now, self.race.now)]
        self._progress = [p for p in self._progress if now - p[0] < WINDOW] + [(now, self.figures.finished)]

    def tasks_per_second(self) -> float:
        """Tasks finished per second of the clock, lately."""
        if len(self._progress) < 2:
            return 0.0
        (began, before), (ended, after) = self._progress[0], self._progress[-1]
        return max(after - before, 0) / max(ended - began, 1e-9)

    def comparison(self) -> list[dict[str, Any]]:
        """As in `SimulationUpdate`."""
        unfinished = self.race.unfinished()
        return [
            {
                "name": name,
                **self.figures.means[name].document(),
                "unfinished": unfinished[name],
                "overloaded": self.figures.overload[name].now,
            }
            for name in self.plan.schedulers
        ]

    def utilization(self) -> dict[str, dict[str, Any]]:
        """Busy share of every device over the last seconds."""
        since = self._marks[0][1] if self._marks else 0.0
        return {
            name: {
                "average_utilization": sum(busy.values()) / len(busy),
                **{device: {"utilization": share} for device, share in busy.items()},
            }
            for name, busy in self.race.utilization(since).items()
        }

    def latest(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The task that finished last and what became of it."""
        if self._latest is None:
            return None, {}
        return latest_results(self._latest, self._latest_id)

    def log_lines(self, most: int) -> list[str]:
        """Who put the latest task where."""
        if self._latest is None:
            return []
        lines = []
        for name, outcomes in self._latest.outcomes.items():
            outcome = outcomes[-1]
            places = " and ".join(_place(part.device, part.share) for part in outcome.parts if not part.lost)
            lines.append(f"Task {self._latest_id} assigned to {places or 'nobody'} by {name}")
        return lines[:most]


def transplant(old: Learner, new: Learner) -> None:
    """Let one learner go on from what another knows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            old.save_model(path)
        except InvalidInputError:
            return  # it knows nothing yet
        new.load_model(path)


def _place(device: str, share: float) -> str:
    kind, _, number = device.partition("_")
    part = "" if share >= 1.0 else f" ({share:.0%})"
    return f"{kind.upper()} {number}{part}"
