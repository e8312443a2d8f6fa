"""`Scenario` answers every question about tasks once: rates, loads, seeds, batch and stream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load, PresetTasks, Rate, RecordedTasks, Scenario, ScenarioOptions
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity, capacity_of_tasks

COLUMNS = ("size", "compute_intensity", "memory_required", "arrival_time")


def assert_same(one: TaskBatch, other: TaskBatch, *, arrivals: bool = True) -> None:
    for name in COLUMNS if arrivals else COLUMNS[:3]:
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def recorded(count: int = 50, rate: float = 4.0) -> RecordedTasks:
    return RecordedTasks(WorkloadGenerator(3).generate("uniform", count, rate))


def test_a_preset_arrives_at_the_default_load() -> None:
    scenario = Scenario(seed=7)
    assert scenario.capacity == capacity("mixed", World())
    assert scenario.rate == 0.6 * scenario.capacity
    assert scenario.load == pytest.approx(0.6)
    assert_same(scenario.batch(), WorkloadGenerator(7).generate("mixed", 1000, 0.6 * scenario.capacity))


def test_rate_and_load_say_the_same() -> None:
    by_load = Scenario(num_tasks=40, arrivals=Load(0.3))
    assert by_load.rate is not None
    assert_same(by_load.batch(), replace(by_load, arrivals=Rate(by_load.rate)).batch())
    assert replace(by_load, arrivals=Rate(2.0)).load == 2.0 / by_load.capacity


def test_the_same_tasks_as_a_batch_and_as_a_stream() -> None:
    scenario = Scenario(PresetTasks("bursty"), num_tasks=5000, arrivals=Rate(3.0), seed=5)
    arrived = [scenario.stream().until(np.inf, 4096, 0) for _ in range(1)]
    assert arrived[0] is not None
    for name in COLUMNS[:3]:
        assert getattr(arrived[0].tasks, name).tolist() == getattr(scenario.batch(), name)[:4096].tolist()
    assert arrived[0].tasks.arrival_time == pytest.approx(scenario.batch().arrival_time[:4096])


def test_ranges_hold_in_batch_stream_training_and_capacity() -> None:
    source = PresetTasks("mixed", size_range=(100.0, 200.0), memory_range=(1.0, 2.0))
    scenario = Scenario(source, num_tasks=300, arrivals=Rate(2.0))
    stream = scenario.stream().until(np.inf, 300, 0)
    assert stream is not None
    for tasks in (scenario.batch(), stream.tasks, scenario.training(200).batch()):
        assert tasks.size.min() >= 100.0
        assert tasks.size.max() <= 200.0
        assert tasks.memory_required.max() <= 2.0
    assert scenario.capacity > 5 * Scenario().capacity  # small tasks are done sooner
    assert scenario.facts()["size_range"] == [100.0, 200.0]
    assert "intensity_range" not in scenario.facts()


def test_the_own_range_of_a_preset_is_no_change() -> None:
    assert PresetTasks("uniform", size_range=(500.0, 1500.0)) == PresetTasks("uniform")


def test_training_is_the_same_kind_from_another_seed() -> None:
    scenario = Scenario(num_tasks=20, arrivals=Load(0.4), seed=3, warmup=5)
    training = scenario.training(30)
    assert (training.seed, training.count, training.warmup) == (1_000_003, 30, 0)
    assert training.rate == scenario.rate
    assert_same(training.batch(), WorkloadGenerator(1_000_003).generate("mixed", 30, scenario.rate or 0.0))


def test_a_trace_keeps_its_arrivals_unless_it_is_asked_otherwise() -> None:
    source = recorded()
    own = Scenario(source)
    assert own.batch() is source.tasks
    assert own.rate == pytest.approx(4.0, rel=0.5)
    assert own.capacity == capacity_of_tasks(source.tasks, World())
    faster = Scenario(source, arrivals=Rate(8.0))
    assert_same(faster.batch(), source.tasks, arrivals=False)
    assert faster.facts()["arrival_rate"] == pytest.approx(8.0)
    assert Scenario(source, arrivals=Load(0.5)).facts()["load"] == pytest.approx(0.5)
    assert Scenario(source, isolated=True, arrivals=Rate(8.0)).batch() is source.tasks


def test_training_on_a_trace_draws_from_its_tasks() -> None:
    source = recorded()
    training = Scenario(source, arrivals=Rate(8.0), seed=2).training(500)
    assert len(training.batch()) == 500
    assert set(training.batch().size) <= set(source.tasks.size)
    again = Scenario(source, arrivals=Rate(8.0), seed=2).training(500)
    assert_same(training.batch(), again.batch())


def test_a_table_has_no_other_tasks() -> None:
    tasks = recorded(2).tasks
    table = World(ClusterSpec.default(1), Physics(TableCost(np.ones((2, 2)), (0, 1), ("cpu_0", "gpu_0"))))
    with pytest.raises(InvalidInputError, match="a table has no others"):
        Scenario(RecordedTasks(tasks), table).training(10)
    with pytest.raises(InvalidInputError, match="a table has no others"):
        Scenario(RecordedTasks(tasks, kind="table")).training(10)


def test_the_first_tasks_of_a_trace() -> None:
    source = recorded(10)
    assert len(Scenario(source, num_tasks=4).batch()) == 4
    with pytest.raises(InvalidInputError, match="11 tasks are wanted, but given tasks has only 10 tasks"):
        Scenario(source, num_tasks=11).batch()


def test_what_cannot_go_on_without_an_end() -> None:
    with pytest.raises(InvalidInputError, match="no dependencies"):
        Scenario(PresetTasks(dependency_prob=0.1)).stream()
    alone = RecordedTasks(recorded(5).tasks.with_arrivals(np.zeros(5)))
    with pytest.raises(InvalidInputError, match="at least two tasks"):
        Scenario(alone, arrivals=Rate(1.0)).stream()
    with pytest.raises(InvalidInputError, match="has times for its own tasks only"):
        Scenario(RecordedTasks(recorded(5).tasks, kind="table"), arrivals=Rate(1.0)).stream()


def chain(arrivals: list[float], dependencies: list[list[int]]) -> RecordedTasks:
    ones = np.ones(len(arrivals))
    return RecordedTasks(
        TaskBatch.from_columns(ones, ones, ones, arrival_time=np.array(arrivals), dependencies=dependencies)
    )


def test_a_stream_keeps_every_parent_or_refuses() -> None:
    """None is cut: a parent that arrives after its child is refused."""
    kept = Scenario(chain([0.0, 1.0, 2.0], [[], [0], [0, 1]]), arrivals=Rate(1.0)).stream().until(100.0, 3, 10)
    assert kept is not None
    assert kept.parents == {11: (10,), 12: (10, 11)}
    for late in (chain([0.0, 1.0, 2.0], [[], [2], []]), chain([0.0, 1.0, 1.0], [[], [2], []])):
        with pytest.raises(InvalidInputError, match=r"task 1 waits for task 2, which arrives after it; .* arrival_t"):
            Scenario(late, arrivals=Rate(1.0)).stream()


def test_isolated_tasks_have_no_rate() -> None:
    scenario = Scenario(num_tasks=5, isolated=True, arrivals=Rate(3.0))
    assert (scenario.rate, scenario.load) == (None, None)
    assert any("rate and load change nothing" in note for note in scenario.notes)
    assert Scenario(isolated=True).notes == ()


def test_more_tasks_than_any_machine_can_hold() -> None:
    with pytest.raises(InvalidInputError, match="use fewer tasks"):
        Scenario(num_tasks=10**8, world=World(ClusterSpec.default(1024))).batch()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": 1.0, "load": 0.5}, "both set the arrivals"),
        ({"gpus": 1, "cluster": "node.yaml"}, "both describe the node"),
        ({"trace": "a.csv", "preset": "mixed"}, "preset .mixed. is for generated tasks"),
        ({"trace": "a.csv", "size_range": (1, 2)}, "size_range .* is for generated tasks"),
        ({"table": "a.csv", "speedup": "linear"}, "a table gives the times"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        ScenarioOptions(**options)  # type: ignore[arg-type]


def test_what_the_caller_says_beats_the_file() -> None:
    config = Config.model_validate(
        {"workload": {"preset": "uniform", "load": 0.2, "num_tasks": 9, "size_range": [600, 700]}}
    )
    told = ScenarioOptions(rate=5.0, tasks=3).scenario(config)
    assert (told.preset, told.rate, told.count) == ("uniform", 5.0, 3)
    assert told.source == PresetTasks("uniform", size_range=(600.0, 700.0))
    file = ScenarioOptions().scenario(config, default_tasks=50, default_load=0.05)
    assert (file.arrivals, file.count) == (Load(0.2), 9)
    # The file's ranges are those of its own preset.
    assert ScenarioOptions(preset="mixed").scenario(config).source == PresetTasks("mixed")
    nobody = ScenarioOptions().scenario(Config(), default_tasks=50, default_load=0.05)
    assert (nobody.arrivals, nobody.count) == (Load(0.05), 50)


def test_a_trace_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("size,compute_intensity,memory_required\n" + "500,0.5,10\n" * 4)
    scenario = ScenarioOptions(trace=path).scenario(Config())
    assert scenario.count == 4
    assert scenario.facts()["trace"] == str(path)
    assert any("all tasks arrive at once" in note for note in scenario.notes)
    assert not any("at once" in note for note in ScenarioOptions(trace=path, rate=1.0).scenario(Config()).notes)


def test_a_stream_of_a_trace_keeps_kinds_and_estimates() -> None:
    tasks = TaskBatch.from_columns(
        np.array([100.0, 200.0, 300.0]),
        np.array([0.1, 0.5, 0.9]),
        np.array([1.0, 2.0, 3.0]),
        arrival_time=np.array([0.0, 1.0, 2.0]),
        duration_estimate=np.array([4.0, 5.0, 6.0]),
        kind=["fft", "sort", "fft"],
    )
    arrived = Scenario(RecordedTasks(tasks), arrivals=Rate(1.0)).stream().until(100.0, 10, 0)
    assert arrived is not None
    assert [(task.kind, task.duration_estimate) for task in arrived.tasks] == [
        ("fft", 4.0),
        ("sort", 5.0),
        ("fft", 6.0),
    ]


LOG = """; MaxProcs: 8
1   0 0 120 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1
2  10 0  45 8 -1 -1 1 -1 -1 1 2 1 -1 1 -1 -1 -1
"""


def test_users_estimates_are_told_and_recorded_times_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "jobs.swf"
    path.write_text(LOG)
    told = ScenarioOptions(trace=path).scenario(Config())
    assert told.batch().duration_estimate.tolist() == [600.0, 45.0]
    timed = told.world.timed(told.batch())
    assert timed.nominal[:, 1, 0].tolist() == [600.0, 45.0]
    assert timed.realised[:, 1, 0] == pytest.approx([120.0, 45.0])
    assert any("estimates_requested" in note for note in told.notes)
    nominal = ScenarioOptions(trace=path, estimates="nominal").scenario(Config())
    assert nominal.batch().duration_estimate.tolist() == [120.0, 45.0]
    assert not any("estimates_requested" in note for note in nominal.notes)
    csv = tmp_path / "trace.csv"
    csv.write_text("size,compute_intensity,memory_required\n500,0.5,10\n")
    with pytest.raises(InvalidInputError, match="does not say what users asked for"):
        ScenarioOptions(trace=csv, estimates="requested").scenario(Config())


def test_the_node_is_as_wide_as_the_widest_task_unless_it_is_described(tmp_path: Path) -> None:
    path = tmp_path / "jobs.swf"
    path.write_text(LOG)
    wide = ScenarioOptions(trace=path).scenario(Config())
    assert wide.world.cluster.names == tuple(f"cpu_{i}" for i in range(8))
    assert any("the node has 8 CPUs and no GPU" in note for note in wide.notes)
    described = ScenarioOptions(trace=path, cpus=16, gpus=1).scenario(Config())
    assert (len(described.world.cluster.devices), described.world.cluster.names[-1]) == (17, "gpu_0")
    assert not any("node_as_wide" in note for note in described.notes)
    narrow = ScenarioOptions(trace=path, gpus=4).scenario(Config())
    with pytest.raises(InvalidInputError, match=r"task 2 has width 8: .* 1 CPUs and 4 GPUs; give it more \(`--cpus`"):
        narrow.world.refuse_too_wide(narrow.batch())
    first = ScenarioOptions(trace=path, tasks=1).scenario(Config()).batch()
    assert (first.width.tolist(), first.time_factor.tolist()) == ([4], [0.2])
