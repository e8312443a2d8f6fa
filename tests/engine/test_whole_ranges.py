"""Nodes and tasks from the whole of every range: each figure derived from them is a number, and none is below zero."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from hypothesis import given, note
from hypothesis import strategies as st

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.model.ranges import ARRIVALS, FORMULA_SIZES, INTENSITIES, MEGABYTES, SECONDS, SIZES, Range
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, TableCost
from hybrid_scheduler.physics.device import DISTURBANCE_TIMES, FIGURES, SPEEDS, ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import STRETCHES, Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler

MILLION = 1e6


def within(legal: Range) -> st.SearchStrategy[float]:
    """Both ends, and anything between, small ones as often as large ones."""
    low, high = legal.low, legal.high
    least = low if low > 0 else min(1e-9, high)
    return st.one_of(
        st.sampled_from([float(low), float(high)]),
        st.floats(math.log(least), math.log(high)).map(lambda x: min(max(math.exp(x), low), high)),
    )


FIGURE = {name: within(legal) for name, legal in FIGURES.items() if name != "node"}


@st.composite
def clusters(draw: st.DrawFn) -> ClusterSpec:
    kinds = ["cpu", *draw(st.lists(st.sampled_from(["cpu", "gpu"]), max_size=3))]
    devices = tuple(
        Device(f"{kind}_{i}", kind, **{name: draw(figure) for name, figure in FIGURE.items()})  # type: ignore[arg-type]
        for i, kind in enumerate(kinds)
    )
    # Never the first: with all devices gone nothing would end.
    changes = st.builds(
        Disturbance,
        within(DISTURBANCE_TIMES),
        st.sampled_from([d.name for d in devices[1:]]),
        st.one_of(st.just(0.0), within(SPEEDS)),
    )
    return ClusterSpec(devices, tuple(draw(st.lists(changes, max_size=3))) if len(devices) > 1 else ())


@st.composite
def task_batches(draw: st.DrawFn) -> TaskBatch:
    timed = draw(st.booleans())
    return TaskBatch.from_tasks(
        Task(
            i,
            draw(within(SIZES if timed else FORMULA_SIZES)),
            draw(within(INTENSITIES)),
            draw(within(MEGABYTES)),
            draw(within(ARRIVALS)),
            draw(within(SECONDS)) if timed else math.nan,
        )
        for i in range(draw(st.integers(1, 6)))
    )


@st.composite
def cost_models(draw: st.DrawFn, tasks: TaskBatch, cluster: ClusterSpec) -> CostModel:
    if draw(st.booleans()):
        return FormulaCost(draw(st.sampled_from(["linear", "amdahl"])))
    rows = [[draw(within(SECONDS)) for _ in cluster.devices] for _ in tasks]
    return TableCost(np.array(rows), tuple(tasks.task_id.tolist()), cluster.names)


@st.composite
def races(draw: st.DrawFn) -> Race:
    tasks, cluster = draw(task_batches()), draw(clusters())
    physics = Physics(
        draw(cost_models(tasks, cluster)),
        draw(st.sampled_from(["concurrent", "serial"])),
        draw(within(STRETCHES)),
        draw(st.sampled_from(["fallback", "fail"])),
        draw(within(STRETCHES)),
        draw(st.sampled_from(["cloud", "electricity"])),
    )
    note(f"{list(tasks)}\n{cluster}\n{physics}")
    return Race(tasks, World(cluster, physics), seed=draw(st.integers(0, 100)), isolated=draw(st.booleans()))


def numbers(found: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a metric's value."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from numbers(value, f"{name}.{key}")
    elif isinstance(found, int | float):
        yield name, float(found)


@given(race=races())
def test_every_figure_is_a_number(race: Race) -> None:
    timed = race.world.timed(race.tasks, 7)
    for times in (timed.nominal, timed.realised):
        whole = times.sum(axis=1)
        assert np.isfinite(whole).all()
        assert (whole > 0).all()
    for name in ("mct", "oracle", "greedy"):
        outcomes = race.run(create_scheduler(name))
        columns = {
            "actual_time": outcomes.actual_time,
            "response_time": outcomes.response_time,
            "energy": outcomes.energy,
            "cost": outcomes.cost,
        }
        for column, values in columns.items():
            finished = values[~outcomes.failed]
            assert np.isfinite(finished * MILLION).all(), f"{name}: {column}"
            assert (finished >= 0).all(), f"{name}: {column}"
        figures, bound = dict(numbers(summarise(outcomes))), race.lower_bound(outcomes)
        for figure, value in figures.items():
            assert math.isfinite(value * MILLION), f"{name}: {figure}"
        assert 0 <= bound.makespan <= figures.get(".makespan", math.inf), name
        assert 0 <= bound.avg_response <= figures.get(".avg_response", math.inf), name
