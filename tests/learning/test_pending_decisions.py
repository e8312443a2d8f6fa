from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.pending_decisions import KEPT, PendingDecision, PendingDecisions
from hybrid_scheduler.learning.replay_buffer import ReplayBuffer

COLUMNS = {"state": 1, "responses": 1, "energies": 1}
WIDTHS = {
    **COLUMNS,
    "action": 0,
    "response": 0,
    "energy": 0,
    "next_monies": 1,
    **{f"next_{name}": 1 for name in COLUMNS},
}


def decision(number: int, task_id: int, probe: int = -1) -> PendingDecision:
    column = np.array([number], dtype=np.float32)
    return PendingDecision(number, task_id, number % 3, probe, column, column + 0.25, column + 0.5, column)


def learned(pending: PendingDecisions) -> list[tuple[float, float, float]]:
    """State, next state and response of the transitions that are complete."""
    replay = ReplayBuffer(100, WIDTHS)
    pending.move_complete(replay)
    places = [list(WIDTHS).index(name) for name in ("state", "next_state", "response")]
    return [tuple(row[places].tolist()) for row in replay.rows[: len(replay)]]


def finish(pending: PendingDecisions, task_id: int, response: float) -> None:
    found = pending.pop(task_id)
    assert found is not None
    pending.finish(found, response, 1.0)


def test_a_transition_waits_for_the_next_decision() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70))
    finish(pending, 70, 2.0)
    assert learned(pending) == []
    pending.add(decision(1, 71))
    assert learned(pending) == [(0.0, 1.0, 2.0)]
    assert learned(pending) == []
    assert len(pending) == 1


def test_the_same_decision_twice_is_one() -> None:
    pending = PendingDecisions()
    for _ in range(2):
        pending.add(decision(0, 70, probe=1))
    assert (len(pending), pending.probes(1), pending.probes(0)) == (1, 1, 0)
    assert pending.pop(70) is not None
    assert pending.pop(70) is None
    assert pending.probes(1) == 0


def test_a_task_that_was_decided_again_has_its_last_decision() -> None:
    pending = PendingDecisions()
    pending.add(decision(0, 70))
    pending.add(decision(1, 70))
    finish(pending, 70, 5.0)
    pending.add(decision(2, 71))
    assert learned(pending) == [(1.0, 2.0, 5.0)]


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
