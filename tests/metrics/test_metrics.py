"""Every metric by a small example worked out by hand (SPEC section 3)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics import registry
from hybrid_scheduler.metrics.base import Metric, MetricInfo, Span, Value
from hybrid_scheduler.metrics.registry import metric_classes, metric_infos, summarise
from hybrid_scheduler.model import OutcomeBatch, Task, TaskBatch
from hybrid_scheduler.model.outcome import GraphFacts
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler

NAMES = ("cpu_0", "gpu_0", "gpu_1", "spare")


def batch(
    tasks: list[tuple[float, float, float, bool]],
    parts: list[tuple[int, int, float, float, bool]],
    idle_watts: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    idle_price: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    least_seconds: tuple[float, ...] | None = None,
    graphs: GraphFacts | None = None,
) -> OutcomeBatch:
    """Tasks as (arrival, finish, actual time, failed), parts as (task, device, start, end, lost); 10 J and 2 $ each."""
    arrival, finish, actual, failed = (np.array(column, dtype=float) for column in zip(*tasks, strict=True))
    owner, device, start, end, lost = (
        np.array(c, dtype=float) for c in (zip(*parts, strict=True) if parts else [[]] * 5)
    )
    count = len(tasks)
    return OutcomeBatch(
        np.arange(count),
        arrival,
        arrival.copy(),
        arrival.copy(),
        finish,
        actual,
        np.full(count, 10.0),
        np.full(count, 2.0),
        failed.astype(bool),
        np.zeros(count, dtype=np.int64),
        owner.astype(np.int64),
        device.astype(np.int64),
        np.ones(len(parts)),
        start,
        end,
        np.zeros(len(parts)),
        lost.astype(bool),
        NAMES,
        np.array([-1, 0, 1, 2]),
        np.array(idle_watts),
        np.array(idle_price),
        least_seconds=None if least_seconds is None else np.array(least_seconds),
        graphs=graphs,
    )


# Task 1 waits for task 0 (6 s, at least 4), the others for nobody: task 2 takes 10 s, at least 2. Done by one device
# after the other, the tasks that finished would take 30, 22, 23 and 60 s.
GRAPHS = GraphFacts(
    np.array([0, 0, 1, 2]),
    np.array([2, 2, 1, 1]),
    np.array([2.0, 4.0, 2.0, 0.1]),
    np.array([[10, 5, 8, 20], [10, 6, 8, 20], [10, 11, 7, 20], [1, np.inf, 1, 1]]),
)
# Responses 4, 6 and 10 s, waits 0, 2 and 5 s; the fourth failed. Busy: 5, 4, 6 and 0 s of 11. Slowdowns 2, 3 and 5.
EXAMPLE = batch(
    [(1.0, 5.0, 4.0, False), (1.0, 7.0, 4.0, False), (2.0, 12.0, 5.0, False), (3.0, 3.5, 0.0, True)],
    [(0, 1, 1.0, 5.0, False), (1, 2, 3.0, 7.0, False), (2, 0, 7.0, 12.0, False), (3, 2, 1.0, 3.0, True)],
    least_seconds=(2.0, 2.0, 2.0, np.inf),
    graphs=GRAPHS,
)
# By hand; percentiles interpolate linearly between the sorted responses 4, 6, 10, or slowdowns 2, 3, 5.
EXPECTED = {
    "tasks": 4,
    "failed": 1,
    "makespan": 11.0,
    "total_time": 13.0,
    "avg_time": 13.0 / 3.0,
    "max_time": 5.0,
    "avg_wait": (0.0 + 2.0 + 5.0) / 3.0,
    "avg_response": 20.0 / 3.0,
    "p50_response": 6.0,
    "p95_response": 6.0 + 0.9 * 4.0,
    "p99_response": 6.0 + 0.98 * 4.0,
    "p50_slowdown": 3.0,
    "p95_slowdown": 3.0 + 0.9 * 2.0,
    "p99_slowdown": 3.0 + 0.98 * 2.0,
    "bounded_slowdown": 1.0,
    "max_slowdown": 5.0,
    "fairness": 10.0**2 / (3.0 * (4.0 + 9.0 + 25.0)),
    "slr": (6.0 / 4.0 + 10.0 / 2.0) / 2.0,
    "speedup": 22.0 / 11.0,
    "efficiency": 22.0 / 11.0 / 4.0,
    "energy": 40.0,
    "cost": 8.0,
    "throughput": 3.0 / 11.0,
    "load_balance": 5.0 / 6.0,
    "overloaded": False,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_by_hand(name: str) -> None:
    metric = metric_classes()[name]()
    metric.update(EXAMPLE)
    assert metric.get() == pytest.approx(EXPECTED[name])


def test_utilization_by_hand() -> None:
    found = summarise(EXAMPLE)["utilization"]
    assert found == {
        "average_utilization": pytest.approx(15.0 / 44.0),
        "cpu_0": {"utilization": pytest.approx(5.0 / 11.0)},
        "gpu_0": {"utilization": pytest.approx(4.0 / 11.0)},
        "gpu_1": {"utilization": pytest.approx(6.0 / 11.0)},
        "spare": {"utilization": 0.0},
    }


def test_every_registered_metric_has_an_example() -> None:
    assert set(metric_classes()) == {*EXPECTED, "utilization"}
    assert list(summarise(EXAMPLE)) == list(metric_classes())


@pytest.mark.parametrize("name", sorted(metric_classes()))
def test_bit_by_bit_is_all_at_once(name: str) -> None:
    made = metric_classes()[name]
    whole, bits = made(), made()
    whole.update(EXAMPLE)
    for i in range(len(EXAMPLE)):
        bits.update(EXAMPLE.select(np.arange(len(EXAMPLE)) == i))
    assert flat(bits.get()) == pytest.approx(flat(whole.get()))


def flat(value: Value) -> dict[str, object]:
    """Utilization is nested; one level of names is what pytest can compare."""
    if not isinstance(value, dict):
        return {"": value}
    return {name: found["utilization"] if isinstance(found, dict) else found for name, found in value.items()}


@pytest.mark.parametrize("name", sorted(metric_classes()))
def test_described(name: str) -> None:
    made = metric_classes()[name]
    assert issubclass(made, Metric)
    assert made.name == name
    info = metric_infos()[name]
    assert info == MetricInfo(name, made.title, made.short, made.unit, made.bigger_is_better, info.description)
    assert all((info.title, info.short, info.unit, info.description))
    assert info.bigger_is_better in (True, False, None)
    assert info.description.endswith(".")
    assert "\n" not in info.description


def test_heads_of_columns() -> None:
    heads = {name: info.head for name, info in metric_infos().items()}
    assert heads["avg_response"] == "response s"
    assert heads["cost"] == "cost $"
    assert heads["load_balance"] == "balance"
    assert heads["overloaded"] == "overloaded"
    assert heads["throughput"] == "throughput tasks/s"


class Plain(Metric):
    """A metric of the first interface: a unit, `update` and `get`, and a span of its own."""

    unit = "s"

    def __init__(self) -> None:
        self._span = Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        self._span.update(outcomes)

    def get(self) -> float | None:
        return self._span.elapsed


def test_a_metric_of_the_first_interface_works(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = {**metric_classes(), "my_span": Plain}
    monkeypatch.setattr(registry, "metric_classes", lambda: classes)
    found = summarise(EXAMPLE)
    assert found["my_span"] == found["makespan"] == 11.0
    assert Plain.info("my_span") == MetricInfo("my_span", "my span", "my span", "s", False, Plain.__doc__ or "")


def test_what_is_shared_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    original = Span.of

    def count(outcomes: OutcomeBatch) -> Span:
        nonlocal made
        made += 1
        return original(outcomes)

    monkeypatch.setattr(Span, "of", count)
    summarise(EXAMPLE)
    assert made == 1


def test_a_warm_up_is_left_out_of_all_but_overloaded() -> None:
    whole = stream(1.2)
    late = whole.select(np.arange(len(whole)) >= 3000)
    expected = {**summarise(late), "overloaded": True}
    assert summarise(late)["overloaded"] is False  # the queue was long already, and does not double any more
    assert summarise(whole, warmup=3000) == expected


def test_bounded_slowdown_counts_a_short_task_as_one_of_ten_seconds() -> None:
    tasks = [(0.0, 30.0, 1.0, False), (0.0, 60.0, 20.0, False), (0.0, 5.0, 5.0, False), (0.0, 9.0, 0.0, True)]
    outcomes = batch(tasks, [], least_seconds=(1.0, 20.0, 5.0, np.inf))
    assert summarise(outcomes)["bounded_slowdown"] == pytest.approx((30.0 / 10.0 + 60.0 / 20.0 + 1.0) / 3.0)


def test_directions() -> None:
    better = {name: made.bigger_is_better for name, made in metric_classes().items()}
    assert {name for name, value in better.items() if value} == {
        "throughput",
        "load_balance",
        "fairness",
        "speedup",
        "efficiency",
    }
    assert {name for name, value in better.items() if value is None} == {"tasks", "utilization"}


SLOWDOWN = {"p50_slowdown", "p95_slowdown", "p99_slowdown", "bounded_slowdown", "max_slowdown", "fairness"}
GRAPH = {"slr", "speedup", "efficiency"}
NO_DATA = {"makespan", "avg_time", "max_time", "avg_wait", "avg_response", "throughput", "load_balance", "utilization"}


def test_no_data_when_nothing_finished() -> None:
    found = summarise(batch([(1.0, 2.0, 0.0, True)], []))
    assert {name for name, value in found.items() if value is None} == {
        *NO_DATA,
        *SLOWDOWN,
        *GRAPH,
        "p50_response",
        "p95_response",
        "p99_response",
    }
    assert (found["tasks"], found["failed"], found["total_time"], found["overloaded"]) == (1, 1, 0.0, False)


def test_no_slowdown_where_the_best_times_are_not_known() -> None:
    found = summarise(replace(EXAMPLE, least_seconds=None))
    assert {name for name, value in found.items() if value is None} == SLOWDOWN
    others = {name: value for name, value in summarise(EXAMPLE).items() if name not in SLOWDOWN}
    assert {name: value for name, value in found.items() if name not in SLOWDOWN} == others


def test_graph_metrics_are_for_graphs() -> None:
    found = summarise(replace(EXAMPLE, graphs=None))
    assert {name for name, value in found.items() if value is None} == GRAPH
    unfit = replace(GRAPHS, alone_seconds=np.full((4, 4), np.inf))
    found = summarise(replace(EXAMPLE, graphs=unfit))
    assert {name for name, value in found.items() if value is None} == {"speedup", "efficiency"}


def test_a_graph_that_a_warm_up_cuts_has_no_schedule_length_ratio() -> None:
    assert summarise(EXAMPLE, warmup=1)["slr"] == pytest.approx(5.0)
    assert summarise(EXAMPLE, warmup=3)["slr"] is None


def test_graph_metrics_of_a_race_by_hand() -> None:
    """A chain of two tasks and a third behind the first, on two unlike CPUs: 2 + 1 s on the critical path."""
    cluster = ClusterSpec((Device("cpu_0", "cpu"), Device("cpu_1", "cpu")))
    cost = TableCost(np.array([[2.0, 4.0], [3.0, 1.0], [2.0, 3.0]]), (0, 1, 2), cluster.names)
    tasks = TaskBatch.from_tasks([Task(i, 1.0, 0.5, 1.0, dependencies=(0,) if i else ()) for i in range(3)])
    found = summarise(Race(tasks, World(cluster, Physics(cost))).run(create_scheduler("mct")))
    # mct: task 0 on cpu_0 until 2, task 1 on cpu_1 until 3, task 2 on cpu_0 until 4; the path is 2 + 2 s.
    assert (found["makespan"], found["slr"]) == pytest.approx((4.0, 1.0))
    assert (found["speedup"], found["efficiency"]) == pytest.approx((7.0 / 4.0, 7.0 / 8.0))
    alone = TaskBatch.from_tasks([Task(i, 1.0, 0.5, 1.0) for i in range(3)])
    independent = summarise(Race(alone, World(cluster, Physics(cost))).run(create_scheduler("mct")))
    assert {independent[name] for name in GRAPH} == {None}
    isolated = summarise(Race(tasks, World(cluster, Physics(cost)), isolated=True).run(create_scheduler("mct")))
    assert {isolated[name] for name in GRAPH} == {None}


def test_a_race_knows_the_best_times() -> None:
    """On an idle node the oracle's slowdown is at its fraction's rounding; nobody's is below 1."""
    tasks = TaskBatch.from_tasks([Task(i, 100.0 + i, 0.5, 10.0, arrival_time=1000.0 * i) for i in range(5)])
    race = Race(tasks, World())
    oracle, cpu = (summarise(race.run(create_scheduler(name))) for name in ("oracle", "cpu_only"))
    assert oracle["max_slowdown"] == pytest.approx(1.0, abs=0.03)
    assert oracle["fairness"] == pytest.approx(1.0, abs=1e-4)
    assert flat(cpu["p50_slowdown"])[""] > 2.0  # type: ignore[operator]


@pytest.mark.parametrize("name", sorted(metric_classes()))
def test_before_the_first_outcome(name: str) -> None:
    assert not metric_classes()[name]().get()


def test_idle_power() -> None:
    """Idle 6, 7, 5 and 11 of 11 s at 1, 2, 3 and 4 W, on top of 40 J and 8 $."""
    watts, price = (1.0, 2.0, 3.0, 4.0), (0.1, 0.0, 0.0, 0.01)
    tasks = list(zip(EXAMPLE.arrival_time, EXAMPLE.finish_time, EXAMPLE.actual_time, EXAMPLE.failed, strict=True))
    parts = list(
        zip(
            EXAMPLE.part_task, EXAMPLE.part_device, EXAMPLE.part_start, EXAMPLE.part_end, EXAMPLE.part_lost, strict=True
        )
    )
    found = summarise(batch(tasks, parts, watts, price))
    assert found["energy"] == pytest.approx(40.0 + 6.0 + 14.0 + 15.0 + 44.0)
    assert found["cost"] == pytest.approx(8.0 + 0.6 + 0.11)


@pytest.mark.parametrize("task", range(4))
def test_energy_that_a_machine_did_not_tell_of_any_task_is_unknown(task: int) -> None:
    untold = replace(EXAMPLE, energy=np.where(EXAMPLE.task_id == task, np.nan, EXAMPLE.energy))
    assert summarise(untold) == {**summarise(EXAMPLE), "energy": None}


def test_busy_more_than_the_makespan_is_impossible() -> None:
    """One task is done at 2; another ran in vain until 100 and failed. Its device was not used 5000 %."""
    outcomes = batch(
        [(0.0, 2.0, 2.0, False), (0.0, 100.0, 0.0, True)],
        [(0, 0, 0.0, 2.0, False), (1, 1, 0.0, 100.0, True)],
    )
    found = flat(summarise(outcomes)["utilization"])
    assert [found[name] for name in NAMES] == pytest.approx([0.02, 1.0, 0.0, 0.0])


def stream(load: float, count: int = 4000, silence: float = 0.0) -> OutcomeBatch:
    """Poisson arrivals at one device whose tasks take 1 s; a pause in the second quarter when there is a silence."""
    gaps = np.random.default_rng(5).exponential(1.0 / load, count)
    gaps[count // 4] += silence
    ones = np.ones(count)
    tasks = TaskBatch.from_columns(ones, ones, ones, arrival_time=np.cumsum(gaps))
    cost = TableCost(ones[:, None], tuple(range(count)), ("cpu_0",))
    return Race(tasks, World(ClusterSpec.default(0), Physics(cost))).run(create_scheduler("cpu_only"))


@pytest.mark.parametrize(("load", "expected"), [(0.2, False), (0.5, False), (0.9, False), (1.2, True), (1.5, True)])
def test_overloaded(load: float, expected: bool) -> None:
    assert summarise(stream(load))["overloaded"] is expected


def test_overload_is_unknown_where_nobody_knows_since_when_tasks_waited() -> None:
    whole = stream(1.2)
    ready = whole.ready_time.copy()
    ready[7] = np.nan
    found = summarise(replace(whole, ready_time=ready))
    assert found["overloaded"] is None
    assert {**found, "overloaded": True} == summarise(whole)


def test_growth_alone_is_no_overload() -> None:
    """Nothing waits early and little late: more than twice as much, but below 10 service times."""
    times = np.concatenate((np.arange(150) * 2.0, 300.0 + np.repeat(np.arange(20) * 5.0, 4)))
    ones = np.ones(len(times))
    tasks = TaskBatch.from_columns(ones, ones, ones, arrival_time=times)
    cost = TableCost(ones[:, None], tuple(range(len(times))), ("cpu_0",))
    outcomes = Race(tasks, World(ClusterSpec.default(0), Physics(cost))).run(create_scheduler("cpu_only"))
    assert summarise(outcomes)["overloaded"] is False


def test_overload_is_judged_by_a_sweep_of_its_own() -> None:
    """The mean backlog of each quarter, here by sampling the waiting work of the one device at many instants."""
    outcomes = stream(1.2, 400)
    first, last = float(outcomes.arrival_time.min()), float(outcomes.arrival_time.max())

    def backlog(low: float, high: float) -> float:
        instants = np.linspace(low, high, 4001)
        waits = (outcomes.ready_time[:, None] <= instants) & (instants < outcomes.part_start[:, None])
        work = (outcomes.part_end - outcomes.part_start)[:, None]
        return float((work * waits).sum(axis=0).mean()) / len(outcomes.device_names)

    from hybrid_scheduler.metrics.overloaded import _backlog, _waits

    quarter = (last - first) / 4
    for k in (1, 3):
        low, high = first + k * quarter, first + (k + 1) * quarter
        assert _backlog(*_waits(outcomes), low, high, 1) == pytest.approx(backlog(low, high), rel=1e-3)


def test_prices() -> None:
    """One task, 10 s on a GPU of 40 W, with 5 W while idle; the CPU idles at 2 W."""
    cluster = ClusterSpec((Device("cpu_0", "cpu", idle_watts=2.0), Device("gpu_0", "gpu", watts=40.0, idle_watts=5.0)))
    tasks = TaskBatch.from_tasks([Task(0, 1.0, 0.0, 0.0, 3.0, 10.0)])
    cloud = summarise(Race(tasks, World(cluster)).run(create_scheduler("gpu_only")))
    assert (cloud["energy"], cloud["cost"]) == pytest.approx((420.0, 0.001))
    outcomes = Race(tasks, World(cluster, Physics(pricing="electricity"))).run(create_scheduler("gpu_only"))
    assert summarise(outcomes)["cost"] == pytest.approx(420.0 * 0.15 / 3.6e6)


def test_work_in_vain_is_paid_but_not_counted_as_time() -> None:
    cluster = ClusterSpec.default(1).with_disturbances([Disturbance(4.0, "gpu_0", 0.0)])
    tasks = TaskBatch.from_tasks([Task(0, 1.0, 0.0, 0.0, 0.0, 10.0)])
    found = summarise(Race(tasks, World(cluster)).run(create_scheduler("gpu_only")))
    assert (found["energy"], found["total_time"], found["makespan"]) == (50.0 * 4 + 30.0 * 10, 10.0, 14.0)
    assert math.isclose(found["cost"], 0.0001 * 4 + 0.00002 * 10)  # type: ignore[arg-type]
