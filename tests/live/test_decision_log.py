"""Which decisions get a line in the live log."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

from hybrid_scheduler.config import Config
from hybrid_scheduler.live.decision_log import DecisionLine, DecisionLog
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.store import RunRow

NAMES = ("round_robin", "random", "greedy", "cpu_only", "gpu_only", "mct", "oracle")
FIRST = 5000


class Hand:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def session(clock: Hand, load: float = 0.2) -> Session:
    plan = Plan.of(LiveStart(Config(), NAMES, load=load, seed=3))
    run = RunRow(7, "live", "", 3, {}, NAMES, None, FIRST, 10**9, None, 0, datetime.now(UTC), None, "running")
    begun = Session(replace(plan, flat_out=True), run, {}, (), lambda level, line: None)
    begun.decisions = DecisionLog(NAMES, lines_per_second=4.0, clock=clock)
    return begun


def half_seconds(racing: Session, clock: Hand, count: int) -> list[list[DecisionLine]]:
    said = []
    for _ in range(count):
        racing.turn()
        clock.now += 0.5
        said.append(racing.decisions.lines())
    return said


def test_every_scheduler_comes_as_often_as_the_others_and_no_line_twice() -> None:
    clock = Hand()
    said = half_seconds(session(clock), clock, 56)
    lines = [line for each in said for line in each]
    counts = Counter(line.scheduler for line in lines)
    assert set(counts) == set(NAMES)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({line.message for line in lines}) == len(lines)
    assert len(lines) <= 4 * 28 + 4
    assert max(len(each) for each in said[1:]) <= 4


def test_what_gets_no_line_is_counted() -> None:
    clock = Hand()
    racing = session(clock)
    lines = [line for each in half_seconds(racing, clock, 40) for line in each]
    for name in NAMES:
        told = sum(1 + line.skipped for line in lines if line.scheduler == name)
        assert told <= racing.figures.means[name].tasks
    clock.now += 10.0
    lines += racing.decisions.lines()  # only once everybody had a turn is everything counted
    clock.now += 10.0
    lines += racing.decisions.lines()
    for name in NAMES:
        assert sum(1 + line.skipped for line in lines if line.scheduler == name) == racing.figures.means[name].tasks


def test_nothing_new_is_no_line() -> None:
    clock = Hand()
    racing = session(clock)
    half_seconds(racing, clock, 8)
    for _ in range(8):
        clock.now += 5.0
        racing.decisions.lines()
    assert racing.decisions.lines() == []


def test_a_line_names_the_task_by_its_stored_id_and_the_place() -> None:
    clock = Hand()
    line = half_seconds(session(clock), clock, 4)[0][0]
    words = re.fullmatch(r"Task (\d+) assigned to ((?:CPU|GPU) \d+.*) by (\w+)", line.message)
    assert words is not None
    assert int(words[1]) >= FIRST
    assert words[3] == line.scheduler
