"""Live is batch plus a clock: tasks fed bit by bit, and time let go bit by bit, give what one batch gives."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.cluster.node import SimulatedNode
from hybrid_scheduler.cluster.state import DONE
from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import Outcome, TaskBatch
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_names
from hybrid_scheduler.testing import SITUATIONS
from hybrid_scheduler.testing.nodes import SEED, Situation


class Live:
    """The least a service would do: add what has arrived, let time go on, decide, fetch outcomes."""

    def __init__(self, situation: Situation, scheduler: Scheduler, compiled: bool, observing: bool) -> None:
        self.situation = situation
        self.node = simulated_node(scheduler, self, situation.world)
        if observing:
            self.node = SimulatedNode(self, situation.world, observing=True)
        self.driver = Driver(scheduler, self.node, compiled=compiled)
        self.tasks: list[Task] = []
        self.heard: list[Outcome] = []

    def task(self, position: int) -> Task:
        return self.tasks[position]

    def label(self, position: int) -> Label:
        raise AssertionError("nobody learns here")

    def feed(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        batch = TaskBatch.from_tasks(tasks)
        self.tasks += list(batch)
        self.node.add(self.situation.world.timed(batch, SEED))

    def go(self, until: float) -> Change:
        while True:
            change = self.node.advance(None, until=until) if self.node._observing else self.driver.run(until=until)
            if change is Change.ASKED:
                self.driver.ask()
            elif change is Change.FINISHED:
                self.hear()
            else:
                return change

    def hear(self) -> None:
        self.heard += [finished.outcome for finished in self.node.take_finished()]


FIXED = [name for name in scheduler_names() if not create_scheduler(name).observes]
"""Those that learn nothing: this test delivers no outcomes."""
FREE = [name for name, situation in SITUATIONS.items() if situation.dependency_prob == 0.0]


@settings(max_examples=60)
@given(
    st.sampled_from(FREE),
    st.sampled_from(FIXED),
    st.booleans(),
    st.lists(st.floats(0.0, 40.0), max_size=8),
)
def test_fed_bit_by_bit(situation: str, name: str, compiled: bool, cuts: list[float]) -> None:
    """At every cut: add what arrives up to it, let everything up to it be decided."""
    chosen = SITUATIONS[situation]
    stream = list(chosen.stream(60))
    live = Live(chosen, create_scheduler(name), compiled, observing=False)
    last = -1.0
    for cut in sorted(cuts):
        live.feed([t for t in stream if last < t.arrival_time <= cut])
        assert live.go(cut) in (Change.OVER, Change.REACHED)
        last = cut
    live.feed([t for t in stream if t.arrival_time > last])
    assert live.go(math.inf) is Change.OVER
    assert list(live.node.outcomes()) == list(chosen.race(60).run(create_scheduler(name)))


@pytest.mark.parametrize("name", ["greedy", "round_robin"])
def test_one_task_at_a_time_with_outcomes_heard(name: str) -> None:
    """Outcomes heard by a clock that ticks every 0.1 s come after their finish, once, and are final."""
    chosen = SITUATIONS["device_down"]
    stream = list(chosen.stream(80))
    live = Live(chosen, create_scheduler(name), compiled=False, observing=True)
    clock, k = 0.0, 0
    while k < len(stream) or live.node.state.counters[DONE] > 0:
        clock += 0.1
        while k < len(stream) and stream[k].arrival_time <= clock:
            live.feed([stream[k]])
            k += 1
        live.go(clock)
        before = len(live.heard)
        live.hear()
        assert all(clock - 0.1 - 1e-9 <= o.finish_time <= clock for o in live.heard[before:])
    batch = list(chosen.race(80).run(create_scheduler(name)))
    assert sorted(live.heard, key=lambda o: o.task_id) == sorted(batch, key=lambda o: o.task_id)


def test_families_added_one_after_the_other() -> None:
    """Parents must be in the same batch; several batches with parents, each arriving later, make one stream."""
    chosen = SITUATIONS["dependencies"]
    families = [
        [
            Task(100 * family + i, 900.0, 0.5, 10.0, 5.0 * family + 0.1 * i, dependencies=parents)
            for i, parents in enumerate([(), (100 * family,), (100 * family, 100 * family + 1), ()])
        ]
        for family in range(6)
    ]
    live = Live(chosen, create_scheduler("mct"), compiled=True, observing=False)
    for number, family in enumerate(families):
        live.feed(family)
        live.go(5.0 * number + 4.9)
    assert live.go(math.inf) is Change.OVER
    whole = Race(TaskBatch.from_tasks(chain(*families)), chosen.world, seed=SEED)
    assert list(live.node.outcomes()) == list(whole.run(create_scheduler("mct")))


def test_nothing_after_until_is_decided() -> None:
    chosen = SITUATIONS["default"]
    live = Live(chosen, create_scheduler("cpu_only"), compiled=True, observing=False)
    stream = list(chosen.stream(50))
    live.feed(stream)
    middle = stream[20].arrival_time
    assert live.go(middle) is Change.REACHED
    decided = live.node.outcomes().task_id
    assert np.array_equal(decided, [t.task_id for t in stream if t.arrival_time <= middle])
