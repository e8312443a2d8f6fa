from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.agent_layout import CONTEXT, OPTION
from hybrid_scheduler.learning.dqn.network import transition_columns
from hybrid_scheduler.learning.pending_decisions import KEPT, PendingDecision, PendingDecisions
from hybrid_scheduler.learning.replay_buffer import ReplayBuffer

WIDTHS = transition_columns(3)


def decision(number: int, task_id: int, probe: int = -1) -> PendingDecision:
    """Its context says its number; two options could be taken, the second was."""
    context = np.full(CONTEXT, number, dtype=np.float32)
    options = np.full(2 * OPTION, number, dtype=np.float32)
    costs = np.array([1.0, 2.0], dtype=np.float32)
    chosen = 1 if probe < 0 else -1
    return PendingDecision(
        number, task_id, chosen, probe, context, options, costs, 10 * costs, 3.0, 0.5, 0.7, np.zeros(2)
    )


def learned(pending: PendingDecisions) -> list[tuple[float, float, float]]:
    """Context, next context and gap of the transitions that are complete."""
    replay = ReplayBuffer(100, WIDTHS)
    pending.move_complete(replay)
    drawn = replay.columns(np.arange(len(replay)))
    assert (drawn["legal"] == 2.0).all()
    assert (drawn["weight"] == np.float32(0.7)).all()
    assert (drawn["next_other"] == [10.0, 20.0, 0.0]).all()
    return [
        (float(context[0]), float(after[0]), float(gap))
        for context, after, gap in zip(drawn["context"], drawn["next_context"], drawn["gap"], strict=True)
    ]


def finish(pending: PendingDecisions, task_id: int, response: float) -> None:
    found = pending.pop(task_id)
    assert found is not None
    pending.finish(found, response)


def test_a_transition_waits_for_the_next_decision() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70))
    finish(pending, 70, 2.0)
    assert learned(pending) == []
    pending.add(decision(1, 71))
    assert learned(pending) == [(0.0, 1.0, (2.0 - 3.0) / 0.5 - 2.0)]
    assert learned(pending) == []
    assert len(pending) == 1


def test_the_same_decision_twice_is_one() -> None:
    pending = PendingDecisions()
    for _ in range(2):
        pending.add(decision(0, 70, probe=1))
    assert (len(pending), pending.probes([0, 1]), pending.probes([0])) == (1, 1, 0)
    assert pending.pop(70) is not None
    assert pending.pop(70) is None
    assert pending.probes([1]) == 0


def test_a_probe_is_no_transition() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70, probe=1))
    finish(pending, 70, 2.0)
    pending.add(decision(1, 71))
    assert learned(pending) == []


def test_a_task_that_was_decided_again_has_its_last_decision() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70))
    pending.add(decision(1, 70))
    finish(pending, 70, 5.0)
    pending.add(decision(2, 71))
    assert learned(pending) == [(1.0, 2.0, (5.0 - 3.0) / 0.5 - 2.0)]


def test_old_decisions_are_forgotten_but_not_the_new_one_of_the_same_task() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70))
    pending.add(decision(1, 71))
    pending.add(decision(2, 70))
    pending.add(decision(KEPT, 72))
    pending.add(decision(KEPT + 1, 73))
    assert pending.pop(71) is None
    latest = pending.pop(70)
    assert latest is not None
    assert latest.number == 2
    assert len(pending) == 2
