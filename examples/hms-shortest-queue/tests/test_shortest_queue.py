"""What a package with a scheduler should test: the contract, and what is special about its own policy."""

import pytest
from hms_shortest_queue import ShortestQueue

from hybrid_scheduler.model import Task
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import SCHEDULER_CHECKS, SITUATIONS, Witness


@pytest.mark.parametrize("check", SCHEDULER_CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check(ShortestQueue)


def test_registered():
    assert create_scheduler("shortest_queue", threshold=0.9).threshold == 0.9


def test_joins_the_shortest_queue():
    witness = Witness.of(ShortestQueue())
    SITUATIONS["default"].race().run(witness)
    for (task, view), decision in zip(witness.asked, witness.answered, strict=True):
        chosen = decision.parts[0].device
        assert view.queued[chosen] == min(view.queued)
        idle = [row for row in range(5) if view.queued[row] == 0]
        if len(idle) == 5:
            assert (chosen == 0) == (task.compute_intensity < 0.3)


def test_threshold():
    witness = Witness.of(ShortestQueue())
    SITUATIONS["default"].race(tasks=1).run(witness)
    (_, idle), task = witness.asked[0], Task(0, 100.0, 0.5, 10.0)
    assert ShortestQueue(threshold=0.5).decide(task, idle).parts[0].device == 1
    assert ShortestQueue(threshold=0.6).decide(task, idle).parts[0].device == 0
