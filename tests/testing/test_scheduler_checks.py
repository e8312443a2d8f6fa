"""The conformance suite finds what it is there to find: one bad scheduler for each check."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hybrid_scheduler.model import ClusterView, Decision, InvalidInputError, Outcome, Part, Task
from hybrid_scheduler.model.device_columns import BACKLOG, QUEUED
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.schedulers.base import (
    CompiledDispatcher,
    CompiledScheduler,
    RaceLearner,
    Scheduler,
    dispatch_kernel,
    kernel,
)
from hybrid_scheduler.schedulers.cpu_only import CpuOnly
from hybrid_scheduler.testing import schedulers as suite
from hybrid_scheduler.testing.learners import check_model_files


class Plain(Scheduler):
    """Whole tasks on the first device that is up."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole((view.cpus() + view.gpus())[0])


class OwnGenerator(Scheduler):
    """A generator of its own: not pure, but seeded."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.generator = np.random.default_rng(seed)

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(int(self.generator.choice(view.cpus() + view.gpus())))


class Learner(Scheduler):
    """Learns which device answers fastest, in bounded memory."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.mean: dict[str, float] = {}

    def decide(self, task: Task, view: ClusterView) -> Decision:
        up = view.cpus() + view.gpus()
        start = (view.number + self.seed) % len(up)
        return Decision.whole(min(up[start:] + up[:start], key=lambda row: self.mean.get(view.names[row], 0.0)))

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        for part in outcome.parts:
            self.mean[part.device] = 0.9 * self.mean.get(part.device, 0.0) + 0.1 * outcome.response_time


class Files(Plain, RaceLearner):
    """A learner that can be saved and loaded."""

    def save_model(self, path: str | Path) -> None:
        Path(path).write_text("a model")

    def load_model(self, path: str | Path) -> None:
        try:
            known = Path(path).read_text() == "a model"
        except OSError as error:
            raise InvalidInputError("no such file") from error
        if not known:
            raise InvalidInputError("no such model")

    def begin_training(self, tasks: int) -> None: ...

    def end_training(self) -> None: ...


@pytest.mark.parametrize("good", [Plain, OwnGenerator, Learner, Files])
def test_good_ones_pass(good: type[Scheduler], monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = tuple(short_run if check is suite.check_bounded_state else check for check in suite.SCHEDULER_CHECKS)
    monkeypatch.setattr(suite, "SCHEDULER_CHECKS", shorter)
    suite.check_scheduler(good)


def short_run(factory: suite.SchedulerFactory) -> None:
    """The full length is for the real ones."""
    suite.check_bounded_state(factory, tasks=3000)


class Undocumented(Plain):
    __doc__ = None


class FirstGpu(Plain):
    """Always GPU 1, up or not."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(1)


class WrongShares(Plain):
    """Splits that do not add up."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        if view.cpus() and view.gpus():
            return Decision((Part(view.gpus()[0], 0.5), Part(view.cpus()[0], 0.6)))
        return super().decide(task, view)


class Counting(Plain):
    """Remembers how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.asked += 1
        up = view.cpus() + view.gpus()
        return Decision.whole(up[self.asked % len(up)])


class UnseededGenerator(OwnGenerator):
    """Has a seed, and draws from another."""

    counter: ClassVar = itertools.count()

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.generator = np.random.default_rng(next(self.counter))


class Scribbler(Plain):
    """Keeps books in the view."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        view.devices[0, BACKLOG] += 1.0
        return super().decide(task, view)


class Peeping(Plain):
    """Uses estimates without saying so."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        up = view.cpus() + view.gpus()
        return Decision.whole(up[0 if math.isnan(task.duration_estimate) else -1])


class ForgetfulClone(Plain):
    """Changes its own configuration."""

    def __init__(self, device: int = 0) -> None:
        self.device = device

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.device = task.task_id
        return super().decide(task, view)


class SharedMemory(Plain):
    """What one learns, all know."""

    heard: ClassVar[list[int]] = []

    def decide(self, task: Task, view: ClusterView) -> Decision:
        up = view.cpus() + view.gpus()
        return Decision.whole(up[len(self.heard) % len(up)])

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.heard.append(outcome.task_id)


class SeedWithoutEffect(Plain):
    """Takes a seed and does nothing with it."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed


class Unpicklable(Plain):
    """Holds on to a function that cannot be pickled."""

    def __init__(self) -> None:
        self.choose = lambda up: up[0]


class LosesStateInPickle(Learner):
    """Pickled without what it has learned."""

    def __getstate__(self) -> dict[str, object]:
        return {"seed": self.seed, "mean": dict.fromkeys(reversed(self.mean), 1.0)}

    def __deepcopy__(self, memo: object) -> LosesStateInPickle:
        copy = LosesStateInPickle(self.seed)
        copy.mean = dict(self.mean)
        return copy


class Collector(Plain):
    """Keeps every task it has seen."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.seen.append(outcome.task_id)


@kernel
def _gpu_first(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    out[0, 0], out[0, 1], out[0, 2] = devices.shape[0] - 1, 1.0, 0.0
    return 1


class TwoMinds(CompiledScheduler):
    """The kernel says the last device, decide says the first."""

    kernel = _gpu_first

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return CpuOnly().decide(task, view)


@dispatch_kernel
def _last_row(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    out[0, 0], out[0, 1], out[0, 2] = 0.0, 1.0, 0.0
    out[CHOSEN, 0] = waiting.shape[0] - 1
    return 1 if devices[0, QUEUED] == 0.0 else 0


class ComparesRows(CompiledDispatcher):
    """Says that it starts the first row that it would start alone, and starts the last."""

    first_fit = True
    kernel = _last_row


class StrangeObjective(Plain):
    """Cares for something that cannot be set."""

    objective = ("beauty",)


class NoDot(Files):
    """Its files end without a dot."""

    model_suffix = "model"


class Trusting(Files):
    """Takes any file."""

    def load_model(self, path: str | Path) -> None: ...


class Raw(Files):
    """Does not say what is wrong with a file."""

    def load_model(self, path: str | Path) -> None:
        Path(path).read_text()


class Untidy(Files):
    """Leaves another file."""

    def save_model(self, path: str | Path) -> None:
        super().save_model(path)
        Path(f"{path}.old").touch()


class LostPackage(Files):
    """Names a packaged model that is not there."""

    def packaged_model(self, view: ClusterView) -> Path | None:
        return Path("nowhere.model")


BAD: list[tuple[Callable[[suite.SchedulerFactory], None], type[Scheduler], str]] = [
    (suite.check_summary, Undocumented, "Undocumented has no docstring"),
    (suite.check_legal, FirstGpu, "on node 'cpu_only': FirstGpu: .*does not exist"),
    (suite.check_legal, WrongShares, "on node 'default': WrongShares: .*do not add up to 1"),
    (suite.check_pure, Counting, "on node 'default', it answers differently when asked again"),
    (suite.check_pure, UnseededGenerator, "two clones with the same seed answer the same questions differently"),
    (suite.check_leaves_view_alone, Scribbler, "it changed the view it was shown"),
    (suite.check_sees_only_what_it_declares, Peeping, "depends on duration_estimate"),
    (suite.check_clone, ForgetfulClone, "the original was made with"),
    (suite.check_clone, SharedMemory, "a clone and a new scheduler differ"),
    (suite.check_seeding, UnseededGenerator, "two new schedulers differ"),
    (suite.check_seeding, SeedWithoutEffect, "seeds 1 and 2 give the same run"),
    (suite.check_pickling, LosesStateInPickle, "a pickled copy decides differently"),
    (short_run, Collector, r"the scheduler grows: \[([0-9]+, ){3}[0-9]+\] bytes pickled, 1500 tasks apart"),
    (suite.check_compiled, TwoMinds, "Python and kernel differ in"),
    (suite.check_compiled, ComparesRows, "Python and kernel differ in"),
    (check_model_files, StrangeObjective, r"objective names \['beauty'\]"),
    (check_model_files, NoDot, "model_suffix is 'model'"),
    (check_model_files, Trusting, "takes a missing file for a model"),
    (check_model_files, Raw, "raises FileNotFoundError.* raise an InvalidInputError"),
    (check_model_files, Untidy, "leave no other"),
    (check_model_files, LostPackage, "nowhere.model is not a file"),
]


@pytest.mark.parametrize(("check", "bad", "message"), BAD, ids=[f"{c.__name__}-{b.__name__}" for c, b, _ in BAD])
def test_bad_ones_are_found(
    check: Callable[[suite.SchedulerFactory], None], bad: type[Scheduler], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(bad)


def test_unpicklable_is_found() -> None:
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        suite.check_pickling(Unpicklable)


def test_check_scheduler_runs_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[suite.SchedulerFactory] = []
    monkeypatch.setattr(suite, "SCHEDULER_CHECKS", (ran.append, ran.append))
    suite.check_scheduler(Plain)
    assert ran == [Plain, Plain]


def test_every_check_has_a_bad_example() -> None:
    found = {suite.check_bounded_state if check is short_run else check for check, _, _ in BAD}
    assert found == set(suite.SCHEDULER_CHECKS)
