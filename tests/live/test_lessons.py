"""Learners that are trained on the labels in the store while they race."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
from databases import NewDatabase
from live_service import NewLive, until

from hybrid_scheduler.config import Config
from hybrid_scheduler.learning.features import feature_matrix
from hybrid_scheduler.live import command_queue
from hybrid_scheduler.live.command_queue import CommandQueue
from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.live.lessons import Lesson, Lessons, stored_labels
from hybrid_scheduler.live.link import COMMAND, Message
from hybrid_scheduler.live.models import LiveModel
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.model import ClusterView, Decision, Task
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import LabelLearner, Learner
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.store import Batch, ResultRow, RunRow, Store, training_row
from hybrid_scheduler.store import task_row as stored_task
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("hybrid_ml", "greedy")
DEVICES = World().cluster.names


@pytest.fixture
def writer(new_sqlite: NewDatabase) -> Iterator[Writer]:
    made = Writer(new_sqlite(), "me", lambda level, line: None)
    made.open()
    until(lambda: made.owned, "the lease")
    yield made
    made.close()


@pytest.fixture
def session() -> Session:
    run = RunRow(7, "live", "", 3, {}, NAMES, None, 5000, 10**9, None, 0, datetime.now(UTC), None, "running")
    plan = Plan.of(LiveStart(Config(), NAMES, load=0.05, seed=3))
    return Session(plan, run, {}, (), lambda level, line: None)


def oracle_labels(count: int, gpus: int = 4, seed: int = 1) -> LabelBatch:
    world = World(ClusterSpec.default(gpus))
    return world.timed(WorkloadGenerator(seed).generate("mixed", count, 1.0)).labels()


def put(writer: Writer, labels: LabelBatch, devices: Sequence[str] = DEVICES) -> None:
    """Store labels, as a run of their own."""

    async def write(store: Store) -> None:
        run = await store.begin_run("live", seed=1, configuration={}, schedulers=("greedy",), reserve=10**6)
        for first in range(0, len(labels), 1000):
            rows = [labels.row(i) for i in range(first, min(first + 1000, len(labels)))]
            ids = [run.first_task_id + label.task.task_id for label in rows]
            await store.write(
                Batch(
                    [stored_task(label.task, run.id, task) for label, task in zip(rows, ids, strict=True)],
                    [ResultRow(task, "greedy", 0.0, None, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, False, ()) for task in ids],
                    [training_row(label, task, devices) for label, task in zip(rows, ids, strict=True)],
                )
            )

    writer.in_turn(write).result(60.0)


def taught(name: str, session: Session, writer: Writer, later: Session | None = None) -> tuple[Lesson, dict[str, Any]]:
    lesson = Lesson(name, session, writer)
    until(lambda: lesson.ready, "the end of a lesson")
    lesson.finish(later or session)
    return lesson, lesson.ended.result(0.0)


def test_the_latest_labels_of_this_node_oldest_first(writer: Writer) -> None:
    few, labels = oracle_labels(40, gpus=1), oracle_labels(2500)
    put(writer, labels)
    put(writer, few, ("cpu_0", "gpu_0"))

    async def read(store: Store) -> Any:
        return await stored_labels(store, DEVICES), await stored_labels(store, DEVICES, most=100)

    every, latest = writer.at_once(read).result(60.0)
    assert every.others == latest.others == 40
    assert np.array_equal(every.labels.seconds, labels.seconds)
    assert np.array_equal(every.labels.tasks.size, labels.tasks.size)
    assert np.array_equal(every.labels.gpu_fraction, labels.gpu_fraction)
    assert np.array_equal(every.labels.optimal_seconds, labels.optimal_seconds)
    assert np.array_equal(latest.labels.seconds, labels.seconds[-100:])


def test_a_learner_goes_on_with_what_the_store_taught_it(writer: Writer, session: Session) -> None:
    labels = oracle_labels(1500)
    put(writer, labels)
    model = session.models["hybrid_ml"]
    learner = model.learner
    assert isinstance(learner, HybridML)
    lesson, answer = taught("hybrid_ml", session, writer)
    assert answer == {
        "scheduler_name": "hybrid_ml",
        "labels": 1500,
        "message": "hybrid_ml was trained on the latest 1500 labels in the store",
    }
    assert model.learner is session.race.contestants["hybrid_ml"].scheduler is learner, "it is the one that races"
    assert model.document("hybrid_ml")["origin"] == "store"
    assert learner.figures()["rows"] == 1500.0
    fitted = learner.clone()
    fitted.fit(labels)
    assert learner.model is not None
    assert fitted.model is not None
    x = feature_matrix(labels.tasks)
    assert np.array_equal(learner.model.predict(x), fitted.model.predict(x))
    for _ in range(20):
        session.turn()
    assert not Path(lesson._folder.name).exists()


def test_without_labels_for_it_everything_stays(writer: Writer, session: Session) -> None:
    before = session.models["hybrid_ml"].document("hybrid_ml")
    _, answer = taught("hybrid_ml", session, writer)
    assert (answer["labels"], "there are no labels in the store yet" in answer["message"]) == (0, True)
    put(writer, oracle_labels(30, gpus=1), ("cpu_0", "gpu_0"))
    _, answer = taught("hybrid_ml", session, writer)
    assert answer["labels"] == 0
    assert "none of the latest 30 labels in the store has times for the devices of this node" in answer["message"]
    assert session.models["hybrid_ml"].document("hybrid_ml") == before


class Anybody(LabelLearner):
    """Somebody else's learner of labels."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.learned = 0

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(0)

    def fit(self, labels: LabelBatch) -> None:
        if self.broken:
            raise RuntimeError("labels are hard")
        self.learned = len(labels)

    def save_model(self, path: str | Path) -> None:
        Path(path).write_text(str(self.learned))

    def load_model(self, path: str | Path) -> None:
        self.learned = int(Path(path).read_text())


@pytest.mark.parametrize("broken", [False, True])
def test_anybodys_learner_of_labels(writer: Writer, session: Session, broken: bool) -> None:
    put(writer, oracle_labels(25))
    learner = Anybody(broken)
    session.models["greedy"] = LiveModel(learner, "cold")
    if broken:
        with pytest.raises(EngineError, match="labels are hard") as caught:
            taught("greedy", session, writer)
        assert (caught.value.code, caught.value.status) == ("learning_failed", 409)
        assert session.models["greedy"].origin == "cold"
    else:
        assert taught("greedy", session, writer)[1]["labels"] == learner.learned == 25


def test_what_cannot_be_taught_is_refused(writer: Writer, session: Session) -> None:
    with pytest.raises(EngineError, match="'nobody' is not in the race; hybrid_ml, greedy are") as caught:
        Lesson("nobody", session, writer)
    assert caught.value.status == 404
    with pytest.raises(EngineError, match="greedy follows a fixed rule") as caught:
        Lesson("greedy", session, writer)
    assert caught.value.status == 409

    class Agent(Learner):
        def save_model(self, path: str | Path) -> None: ...

        def load_model(self, path: str | Path) -> None: ...

    session.models["greedy"] = LiveModel(Agent(), "cold")
    with pytest.raises(EngineError, match="learns from what becomes of its decisions"):
        Lesson("greedy", session, writer)


def test_a_run_that_has_ended_takes_nothing_over(writer: Writer, session: Session) -> None:
    put(writer, oracle_labels(25))
    lessons = Lessons(writer, SimpleNamespace(notify=lambda *said: heard.append(said)))  # type: ignore[arg-type]
    heard: list[tuple[str, str]] = []
    ended = lessons.begin("hybrid_ml", session)
    assert lessons.begin("hybrid_ml", session) is ended, "one at a time"
    until(lambda: (lessons.watch(None), ended.done())[-1], "the end of a lesson")  # type: ignore[func-returns-value]
    error = ended.exception(0.0)
    assert isinstance(error, EngineError)
    assert error.code == "run_ended"
    assert heard[0][0] == "error"


def test_a_long_lesson_is_answered_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_queue, "LEARN_SECONDS", 0.0)
    sent: list[dict[str, Any]] = []
    link = SimpleNamespace(send=lambda kind, reply: sent.append(reply))
    runner = SimpleNamespace(
        state="running",
        learn=lambda name: Future(),
        watch_clearing=lambda: None,
        watch_lessons=lambda: None,
        is_beginning=False,
        writer=SimpleNamespace(available=True),
    )
    commands = CommandQueue(link, runner)  # type: ignore[arg-type]
    asked = {"number": 4, "name": "learn", "arguments": {"scheduler": "hybrid_ml"}}
    commands.take([Message(COMMAND, orjson.dumps(asked))])
    until(lambda: (commands.settle(), commands.send_replies(), sent)[-1], "an answer")  # type: ignore[func-returns-value]
    assert sent[0]["answer"]["labels"] is None
    assert "still being trained" in sent[0]["answer"]["message"]


def test_a_service_learns_from_its_store(new_sqlite: NewDatabase, new_live: NewLive) -> None:
    options = ("--schedulers", "hybrid_ml,greedy", "--load", "0.3")
    database = new_sqlite()
    live = new_live("live", database, *options).start()
    live.change(flat_out=True)
    live.wait_for_tasks(300)
    assert live.status()["models"][0]["origin"] == "packaged"
    answer = live.client.post("/api/schedulers/hybrid_ml/learn")
    assert answer.status_code == 200, answer.text
    assert answer.json()["labels"] >= 300
    assert live.status()["models"][0]["origin"] == "store"
    finished = live.status()["tasks_processed"]
    until(lambda: live.status()["tasks_processed"] > finished, "that the race goes on")
    for name, status, code in (("greedy", 409, "learns_no_labels"), ("mct", 404, "not_racing")):
        refusal = live.client.post(f"/api/schedulers/{name}/learn")
        assert (refusal.status_code, refusal.json()["error"]["code"]) == (status, code)
    live.end()
    assert "Traceback" not in live.log()

    again = new_live("again", database, *options, "--learn-from-store").start()
    until(lambda: again.status()["models"][0]["origin"] == "store", "a lesson at the start")
    again.end()
    assert "Traceback" not in again.log()
