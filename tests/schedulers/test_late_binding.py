"""Schedulers that let tasks wait: against a plain simulation of their rule, and against those that decide at once."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.fcfs import FirstComeFirstServed
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.sjf import ShortestJobFirst
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

WORLD = World()


def options(seconds: np.ndarray, free: list[float], now: float) -> list[tuple[float, list[tuple[int, float]]]]:
    """Every way to run one task on the default node, with its end: whole devices, then splits in steps of 5 %."""
    fixed, shared = seconds
    ends = [(max(now, free[d]) + fixed[d] + shared[d], [(d, 1.0)]) for d in range(len(free))]
    for gpu in range(1, len(free)):
        for step in range(1, 20):
            share = step / 20
            parts = [(gpu, share), (0, 1.0 - share)]
            took = [(fixed[d] + s * shared[d]) * 1.05 for d, s in parts]
            ends.append((max(max(now, free[d]) + t for (d, _), t in zip(parts, took, strict=True)), parts))
    return ends


def plain(tasks: TaskBatch, shown: int | None) -> list[float]:
    """The rule in plain Python: finishes of `sjf` looking at so many tasks, or of `fcfs` (None)."""
    times = WORLD.timed(tasks).nominal
    arrival, finish = tasks.arrival_time.tolist(), [0.0] * len(tasks)
    free, coming, now = [0.0] * 5, 0, 0.0
    waiting: list[int] = []
    best = times.sum(axis=1).min(axis=1)
    while coming < len(tasks) or waiting:
        later = [at for at in (*free, *arrival[coming : coming + 1]) if at > now or not waiting]
        now = min([at for at in later if at > now] or [arrival[coming]]) if coming < len(tasks) or waiting else now
        while coming < len(tasks) and arrival[coming] <= now:
            waiting.append(coming)
            coming += 1
        while waiting and min(free) <= now:
            line = waiting[:1] if shown is None else sorted(waiting, key=lambda i: (best[i], i))[:shown]
            if shown is not None and waiting[0] not in line:
                line.append(waiting[0])
            for i in line:
                ways = options(times[i], free, now)
                _, parts = min(ways, key=lambda way: way[0])
                if len(parts) == 2 and any(free[d] > now for d, _ in parts):
                    _, parts = min((way for way in ways if len(way[1]) == 1), key=lambda way: way[0])
                if all(free[d] <= now for d, _ in parts):
                    break
            else:
                break
            waiting.remove(i)
            stretch = 1.05 if len(parts) == 2 else 1.0
            for d, share in parts:
                free[d] = now + (times[i, 0, d] + share * times[i, 1, d]) * stretch
                finish[i] = max(finish[i], free[d])
    return finish


@pytest.mark.parametrize("burst", [1, 7, 400])
@pytest.mark.parametrize("load", [0.3, 0.7, 1.2])
@pytest.mark.parametrize("shown", [None, 1, 8])
def test_it_does_what_the_plain_rule_does(load: float, shown: int | None, burst: int) -> None:
    """Also where so many tasks arrive at the same moment."""
    rate = load * capacity("mixed", WORLD)
    tasks = WorkloadGenerator(3).generate("mixed", 400, rate)
    tasks = tasks.with_arrivals(tasks.arrival_time[np.arange(400) // burst * burst])
    scheduler = FirstComeFirstServed() if shown is None else ShortestJobFirst(shown)
    found = Race(tasks, WORLD).run(scheduler).finish_time
    assert found == pytest.approx(np.array(plain(tasks, shown)), rel=1e-9)


def test_waiting_is_worth_more_than_the_oracle_knows() -> None:
    """A tenth of the benchmark's tasks and two of its seeds, with limits to match; see benchmarks/queueing.py."""
    ratios = []
    for seed in (1, 2):
        tasks = WorkloadGenerator(seed).generate("mixed", 5000, 0.8 * capacity("mixed", WORLD))
        race = Race(tasks, WORLD)
        response = {name: race.run(create_scheduler(name)).response_time.mean() for name in ("sjf", "fcfs", "oracle")}
        ratios.append(response["sjf"] / response["oracle"])
        assert response["fcfs"] > response["sjf"]
    assert np.mean(ratios) < 0.5


def test_the_oldest_starts_when_the_shortest_cannot() -> None:
    assert ShortestJobFirst(shown_shortest=0, shown_oldest=1).clone().shown_oldest == 1
    tasks = WorkloadGenerator(1).generate("mixed", 300, 3.0)
    race = Race(tasks, WORLD)
    head = race.run(ShortestJobFirst(0, 1)).finish_time
    assert head.tolist() == race.run(FirstComeFirstServed()).finish_time.tolist()


@pytest.mark.parametrize(("shortest", "oldest"), [(-1, 1), (2000, 1), (0, 0)])
def test_it_must_look_at_something(shortest: int, oldest: int) -> None:
    with pytest.raises(InvalidInputError, match=r"shown_shortest|look at something"):
        ShortestJobFirst(shortest, oldest)
