"""The conformance suite of workload sources: ours pass, and a bad one is found by each check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest

from hybrid_scheduler.model import Task
from hybrid_scheduler.testing import WORKLOAD_CHECKS, check_workload
from hybrid_scheduler.testing import workloads as suite
from hybrid_scheduler.workloads import PRESETS, WorkloadGenerator


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets_pass(preset: str) -> None:
    check_workload(lambda seed: WorkloadGenerator(seed).stream(preset, dependency_prob=0.3))
    check_workload(lambda seed: WorkloadGenerator(seed).generate(preset, 300))


def good(seed: int) -> Iterator[Task]:
    return WorkloadGenerator(seed).stream("mixed")


def changed(**change: Callable[[Task], object]) -> suite.WorkloadSource:
    """The good source with some fields changed."""
    return lambda seed: (replace(t, **{name: of(t) for name, of in change.items()}) for t in good(seed))  # type: ignore[arg-type]


def shared_generator() -> suite.WorkloadSource:
    """One generator for all readers."""
    streams: dict[int, Iterator[Task]] = {}
    return lambda seed: streams.setdefault(seed, good(seed))


def own_seed() -> suite.WorkloadSource:
    seeds = count()
    return lambda seed: good(next(seeds))


BAD: list[tuple[Callable[[suite.WorkloadSource], None], suite.WorkloadSource, str]] = [
    (suite.check_reproducible, lambda seed: [], "gives no task"),
    (suite.check_reproducible, own_seed(), "seed 7 gives other tasks the second time, from task 0 on"),
    (suite.check_reproducible, shared_generator(), "seed 7 gives other tasks"),
    (suite.check_reproducible, lambda seed: good(1), "seeds 7 and 8 give the same tasks"),
    (suite.check_ids, changed(task_id=lambda t: t.task_id // 2), "task id 0 occurs twice"),
    (suite.check_ids, changed(task_id=lambda t: np.int64(t.task_id)), "task id .* is a int64"),
    (suite.check_arrivals, changed(arrival_time=lambda t: 1e6 - t.arrival_time), "task 1 arrives at"),
    (suite.check_fields, changed(size=lambda t: np.float64(t.size)), "size is a float64, not a plain number"),
    (suite.check_fields, changed(dependencies=lambda t: (t.task_id + 1,)), r"depends on \[1\], which has not come"),
    (suite.check_fields, changed(kind=lambda t: 7), "kind is 7, not a string"),
]


@pytest.mark.parametrize(("check", "source", "message"), BAD)
def test_bad_ones_are_found(
    check: Callable[[suite.WorkloadSource], None], source: suite.WorkloadSource, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(source)


def test_readers_that_disturb_each_other_are_found() -> None:
    """Each call alone is right; read in turns, two streams share a generator."""
    made: list[Iterator[Task]] = []

    class Reader:
        def __init__(self, seed: int) -> None:
            self.seed = seed

        def __iter__(self) -> Iterator[Task]:
            made[:] = [good(self.seed)]
            return self

        def __next__(self) -> Task:
            return next(made[0])

    with pytest.raises(AssertionError, match="two readers disturb each other"):
        suite.check_reproducible(Reader)


def test_something_else_than_tasks() -> None:
    def dictionaries(seed: int) -> Iterable[Task]:
        return ({"size": 3} for _ in range(5))  # type: ignore[misc]

    with pytest.raises(AssertionError, match="gives a dict, not a Task"):
        suite.check_fields(dictionaries)


def test_every_check_has_a_bad_example() -> None:
    assert {check for check, _, _ in BAD} == set(WORKLOAD_CHECKS)
    assert len(list(islice(good(0), 3))) == 3
