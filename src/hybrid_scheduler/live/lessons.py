"""Training live learners on the labels in the store, beside the race."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.notifier import Notifier
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.model.errors import HybridSchedulerError, SchedulerError
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.schedulers.base import LabelLearner
from hybrid_scheduler.store import Store, TrainingRow

MOST_LABELS = 20_000
"""The latest labels a learner is trained on: read and learned in seconds."""
MOST_READ = 5 * MOST_LABELS
"""Stored labels looked at: behind those of another node there may be some of this one."""
PAGE = 1000


class StoredLabels(NamedTuple):
    """Labels of the store, oldest first, and how many others were looked at: of another node, or not complete."""

    labels: LabelBatch
    others: int


async def stored_labels(store: Store, devices: Sequence[str], most: int = MOST_LABELS) -> StoredLabels:
    """The latest labels with a time for each of these devices and for no other."""
    rows: list[TrainingRow] = []
    looked, before = 0, None
    while len(rows) < most and looked < MOST_READ:
        page = await store.training(PAGE, before)
        looked += len(page)
        rows += [row for row in page if row.times.keys() == set(devices) and None not in row.times.values()]
        if len(page) < PAGE:
            break
        before = page[-1].task_id
    return StoredLabels(_batch(rows[:most][::-1], devices), looked - len(rows))


def _batch(rows: Sequence[TrainingRow], devices: Sequence[str]) -> LabelBatch:
    def column(name: str) -> Any:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    tasks = TaskBatch.from_columns(
        column("size"),
        column("compute_intensity"),
        column("memory_required"),
        task_id=np.array([row.task_id for row in rows], dtype=np.int64),
    )
    seconds = np.array([[row.times[name] for name in devices] for row in rows], dtype=np.float64)
    shape = (len(rows), len(devices))
    return LabelBatch(tasks, seconds.reshape(shape), column("optimal_gpu_fraction"), column("optimal_time"))


class Lesson:
    """One learner's training on the labels in the store.

    A copy of the learner is trained in a thread of its own while the learner races on; `finish` hands over what the
    copy has learned.

    Args:
        name: The learner's name in the race.
        session: The run it races in.
        writer: Gives access to the store.

    Attributes:
        ended: Gets the answer (`LearnAnswer`) when it is over.

    Raises:
        EngineError: The scheduler is not in the race, or does not learn from labels.
    """

    def __init__(self, name: str, session: Session, writer: Writer) -> None:
        self.name, self._session = name, session
        self._devices = session.plan.world.cluster.names
        self._copy = _pupil(name, session).clone()
        self._folder = tempfile.TemporaryDirectory(prefix="hms-lesson-")
        self._file = Path(self._folder.name) / f"model{self._copy.model_suffix}"
        self._learned: Future[StoredLabels] = Future()
        self.ended: Future[dict[str, Any]] = Future()
        read = writer.past_queue(lambda store: stored_labels(store, self._devices))
        threading.Thread(target=self._learn, args=(read,), name=f"lesson of {name}", daemon=True).start()

    @property
    def ready(self) -> bool:
        """Whether `finish` has something to hand over."""
        return self._learned.done()

    def _learn(self, read: Future[StoredLabels]) -> None:
        """In the thread."""
        try:
            found = read.result()
            if len(found.labels):
                with named_failures(self._copy):
                    self._copy.fit(found.labels)
                    self._copy.save_model(self._file)
        except Exception as error:  # noqa: BLE001  (raised again in the thread of the race; a lost one would wait for ever)
            self._learned.set_exception(error)
        else:
            self._learned.set_result(found)

    def finish(self, session: Session | None) -> tuple[str, str]:
        """Hand over what was learned, in the thread of the race; returns a level and what to say about it."""
        try:
            answer = self._hand_over(session)
        except SchedulerError as error:
            self.ended.set_exception(EngineError(str(error), code="learning_failed", status=409))
            return "error", f"{self.name} could not be trained on the labels in the store: {error}"
        except HybridSchedulerError as error:
            self.ended.set_exception(error)
            return "error", f"{self.name} could not be trained on the labels in the store: {error}"
        finally:
            self._folder.cleanup()
        self.ended.set_result(answer)
        return "info", str(answer["message"])

    def _hand_over(self, session: Session | None) -> dict[str, Any]:
        found = self._learned.result()
        if session is not self._session:
            raise EngineError("the run has ended in the meantime; try again", code="run_ended", status=409)
        count = len(found.labels)
        if count:
            model = session.models[self.name]
            with named_failures(model.learner):
                model.learner.load_model(self._file)
            model.origin = "store"
        return {"scheduler_name": self.name, "labels": count, "message": self._message(found)}

    def _message(self, found: StoredLabels) -> str:
        if count := len(found.labels):
            return f"{self.name} was trained on the latest {count} labels in the store"
        if found.others:
            return (
                f"{self.name} goes on as it was: none of the latest {found.others} labels in the store has times for "
                f"the devices of this node ({', '.join(self._devices)})"
            )
        return f"{self.name} goes on as it was: there are no labels in the store yet, they come with every live run"


class Lessons:
    """The lessons under way, one per learner at most."""

    def __init__(self, writer: Writer, notifier: Notifier) -> None:
        self._writer, self._notifier = writer, notifier
        self._lessons: dict[str, Lesson] = {}

    def begin(self, name: str, session: Session) -> Future[dict[str, Any]]:
        """Begin to train a learner, unless that is under way; the future gets the answer (`LearnAnswer`).

        Raises:
            EngineError: The scheduler is not in the race, or does not learn from labels.
        """
        if name not in self._lessons:
            self._lessons[name] = Lesson(name, session, self._writer)
        return self._lessons[name].ended

    def begin_all(self, session: Session) -> None:
        """Begin to train every learner of the race that learns from labels."""
        for name, model in session.models.items():
            if isinstance(model.learner, LabelLearner):
                self.begin(name, session)

    def watch(self, session: Session | None) -> None:
        """Hand over what has been learned; in the thread of the race, between two turns."""
        for name, lesson in list(self._lessons.items()):
            if lesson.ready:
                del self._lessons[name]
                self._notifier.notify(*lesson.finish(session))


def _pupil(name: str, session: Session) -> LabelLearner:
    if name not in session.plan.schedulers:
        racing = ", ".join(session.plan.schedulers)
        raise EngineError(f"{name!r} is not in the race; {racing} are", code="not_racing", status=404)
    model = session.models.get(name)
    if model is None or not isinstance(model.learner, LabelLearner):
        why = "follows a fixed rule" if model is None else "learns from what becomes of its decisions"
        raise EngineError(
            f"{name} {why}, so labels teach it nothing; name a learner that is trained on labels",
            code="learns_no_labels",
            status=409,
        )
    return model.learner
