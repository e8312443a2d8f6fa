"""What a learner gets back: the task as it was shown, the decision as it was carried out, the outcome."""

from __future__ import annotations

import math

import pytest
from scripted import CPU, GPU, OTHER, Scripted, half, played, race, task, whole

from hybrid_scheduler.model import Decision, Outcome, Task
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing import SITUATIONS, Witness


class Listener(Scripted):
    """Keeps what it is told."""

    def __init__(self, script) -> None:  # type: ignore[no-untyped-def]
        super().__init__(script)
        self.heard: dict[int, tuple[Task, Decision, Outcome]] = {}

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        assert task.task_id == outcome.task_id
        self.heard[task.task_id] = task, decision, outcome


def test_the_decision_comes_back() -> None:
    decided = {0: Decision.split(GPU, CPU, 0.5, (2.5, 4.5)), 1: Decision.whole(OTHER, 7.0), 2: whole(CPU)}
    listener = Listener({task_id: [decision] for task_id, decision in decided.items()})
    outcomes = played(race([task(0), task(1), task(2)]), listener)
    for task_id, decision in decided.items():
        shown, back, outcome = listener.heard[task_id]
        assert back == decision
        assert outcome == outcomes[task_id]
        assert (back.gpu_id, back.gpu_fraction) == (outcome.gpu_id, outcome.gpu_fraction)
        assert (shown.size, math.isnan(shown.duration_estimate)) == (1000.0, True)


def test_who_may_see_estimates_gets_them_back() -> None:
    class Estimating(Listener):
        uses_estimates = True

    listener = Estimating({0: [whole(GPU)]})
    played(race([task(0)]), listener)
    assert listener.heard[0][0].duration_estimate == 123.0


def test_after_a_loss_the_last_decision_counts() -> None:
    listener = Listener({0: [half(), whole(OTHER, 3.0)]})
    played(race([task(0)], [(1.0, "gpu_0", 0.0)]), listener)
    assert listener.heard[0][1] == whole(OTHER, 3.0)
    assert len(listener.heard[0][2].parts) == 3


def test_what_did_not_fit_comes_back_as_it_ran() -> None:
    listener = Listener({0: [Decision.split(GPU, CPU, 0.75, (1.0, 2.0))]})
    played(race([task(0, memory=400.0)]), listener)
    assert listener.heard[0][1] == whole(CPU, 3.0)
    assert listener.heard[0][1].gpu_fraction == 0.0


def test_a_task_that_was_never_placed_has_no_parts() -> None:
    listener = Listener({0: [whole(GPU)]})
    played(race([task(0, memory=400.0), task(1, parents=(0,))], memory_policy="fail"), listener)
    for task_id in (0, 1):
        _, decision, outcome = listener.heard[task_id]
        assert outcome.failed
        assert decision.parts == ()
        assert decision.gpu_id is None


@pytest.mark.parametrize("situation", sorted(SITUATIONS))
def test_on_every_kind_of_node(situation: str) -> None:
    """Whatever was observed of a task without losses is what was answered, unless the memory policy moved it."""

    class Halves(Scheduler):
        """Half and half where it can, else whole."""

        def decide(self, task, view):  # type: ignore[no-untyped-def]
            gpus, cpus = view.gpus(), view.cpus()
            near = [(g, c) for g in gpus for c in cpus if view.devices[g, 1] == view.devices[c, 1]]
            return Decision.split(*near[0], 0.5, (1.0, 2.0)) if near else Decision.whole((gpus + cpus)[0], 1.0)

        def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
            """Nothing to learn."""

    witness = Witness.of(Halves())
    SITUATIONS[situation].race().run(witness, compiled=False)
    answered = {task.task_id: answer for (task, _), answer in zip(witness.asked, witness.answered, strict=True)}
    compared = 0
    for shown, decision, outcome in witness.observed:
        assert decision.gpu_fraction == pytest.approx(outcome.gpu_fraction) or outcome.failed
        if decision.parts and len(decision.parts) == len(answered[shown.task_id].parts):
            assert decision == answered[shown.task_id]
            compared += 1
    assert compared > 0
