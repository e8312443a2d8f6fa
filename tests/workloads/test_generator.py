"""The generator: reproducible, streaming, ranges, dependencies, figures of the last workload."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads import PRESETS, WorkloadGenerator
from hybrid_scheduler.workloads.presets import find_preset
from hybrid_scheduler.workloads.shapes import Range
from hybrid_scheduler.workloads.synthesis import Synthesis, WorkloadSpec

presets = st.sampled_from(sorted(PRESETS))
seeds = st.integers(0, 2**64)
PREFIX_FREE = ("drift",)


def bounds(low: float, high: float) -> st.SearchStrategy[Any]:
    return st.tuples(st.floats(low, high), st.floats(low, high)).map(sorted).map(tuple)


@given(presets, seeds, st.integers(1, 9000), st.sampled_from([0.0, 0.4, 1.0]), st.integers(1, 5))
@example("drift", 1, 70_000, 0.2, 3)  # past the blocks of both
@settings(max_examples=30, deadline=None)
def test_the_stream_is_the_batch_bit_for_bit(preset: str, seed: int, count: int, prob: float, most: int) -> None:
    deps: dict[str, Any] = {"dependency_prob": prob, "max_dependencies": most}
    batch = WorkloadGenerator(seed).generate(preset, count, 7.0, **deps)
    assert list(WorkloadGenerator(seed).stream(preset, 7.0, count, **deps)) == list(batch)


@given(presets, seeds, st.lists(st.integers(1, 300), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_size_of_blocks_changes_nothing(preset: str, seed: int, cuts: list[int]) -> None:
    spec = WorkloadSpec(find_preset(preset), sum(cuts), 3.0, (None, None, (1.0, 2.0)), 0.5, 7)
    whole = Synthesis(spec, seed).take(sum(cuts))
    pieces = Synthesis(spec, seed)
    taken = [pieces.take(cut) for cut in cuts]
    for name in whole._fields:
        joined = np.concatenate([getattr(block, name) for block in taken])
        np.testing.assert_array_equal(getattr(whole, name), joined, err_msg=name)


@given(presets.filter(lambda p: p not in PREFIX_FREE), seeds, st.integers(1, 500), st.integers(1, 500))
@settings(max_examples=40, deadline=None)
def test_a_shorter_workload_is_the_beginning_of_a_longer_one(preset: str, seed: int, short: int, more: int) -> None:
    generator = WorkloadGenerator(seed)
    long = generator.generate(preset, short + more, 2.0, dependency_prob=0.3)
    assert list(generator.generate(preset, short, 2.0, dependency_prob=0.3)) == long[:short]
    endless = generator.stream(preset, 2.0, dependency_prob=0.3)
    assert list(itertools.islice(endless, short)) == long[:short]


@given(presets, bounds(2e-3, 1e6), bounds(0.0, 1.0), bounds(0.0, 1e6), seeds)
@settings(max_examples=60, deadline=None)
def test_every_value_lies_in_the_ranges_given(
    preset: str, size: Range, intensity: Range, memory: Range, seed: int
) -> None:
    tasks = WorkloadGenerator(seed).generate(
        preset, 200, 1.0, size_range=size, intensity_range=intensity, memory_range=memory
    )
    given_ranges = (tasks.size, size), (tasks.compute_intensity, intensity), (tasks.memory_required, memory)
    for values, (low, high) in given_ranges:
        assert low <= values.min()
        assert values.max() <= high
    assert all(task.duration_estimate > 0 for task in tasks)


def test_ranges_map_linearly_and_leave_the_rest_alone() -> None:
    generator = WorkloadGenerator(4)
    own = generator.generate("mixed", 500)
    mapped = generator.generate("mixed", 500, size_range=(0.5, 10.0), memory_range=(0, 49))
    np.testing.assert_allclose(mapped.size, 0.5 + (own.size - 100) / 4900 * 9.5, rtol=1e-12)
    np.testing.assert_allclose(mapped.memory_required, (own.memory_required - 10) / 10, atol=1e-12)
    np.testing.assert_array_equal(mapped.compute_intensity, own.compute_intensity)
    constant = generator.generate("mixed", 500, size_range=(1000, 1000))
    assert set(constant.size) == {1000.0}


def test_generate_workload_is_mixed_on_the_documented_ranges() -> None:
    generator = WorkloadGenerator(42)
    tasks = generator.generate_workload()
    own = generator.generate("mixed", 1000, 100.0)
    assert len(tasks) == 1000
    np.testing.assert_array_equal(tasks.size, own.size)
    np.testing.assert_allclose(tasks.compute_intensity, 0.1 + (own.compute_intensity - 0.05) * 0.9 / 0.95)
    np.testing.assert_array_equal(tasks.memory_required, own.memory_required)
    np.testing.assert_array_equal(
        generator.generate_workload(compute_intensity_range=None).compute_intensity, own.compute_intensity
    )
    assert generator.generate_workload(num_tasks=7, task_size_range=(10, 20), arrival_rate=1.0).size.max() <= 20


def test_generate_workload_of_another_preset_keeps_its_ranges_unless_told() -> None:
    tasks = WorkloadGenerator(1).generate_workload(200, preset="cpu_favourable")
    assert tasks.size.max() <= 100
    assert tasks.memory_required.min() >= 2000
    told = WorkloadGenerator(1).generate_workload(200, preset="cpu_favourable", memory_range=(1, 2))
    assert told.memory_required.max() <= 2
    assert told.size.max() <= 100


def test_the_seed_and_the_arguments_alone_decide() -> None:
    first = WorkloadGenerator(9)
    tasks = list(first.generate("bursty", 300))
    first.generate("uniform", 10)
    assert list(first.generate("bursty", 300)) == tasks
    assert list(WorkloadGenerator(9).generate("bursty", 300)) == tasks
    assert list(WorkloadGenerator(10).generate("bursty", 300)) != tasks


def test_the_global_random_state_is_left_alone() -> None:
    def state() -> Any:
        return np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002 - this is what must not move

    before = state()
    WorkloadGenerator(3).generate("bursty", 100, dependency_prob=0.5)
    np.testing.assert_array_equal(state(), before)


def test_arrival_rates_rescale_time_exactly() -> None:
    slow, fast = (WorkloadGenerator(1).generate("bursty", 500, rate) for rate in (1.0, 4.0))
    np.testing.assert_array_equal(slow.arrival_time, fast.arrival_time * 4.0)
    np.testing.assert_array_equal(slow.size, fast.size)


@given(seeds, st.floats(0, 1), st.integers(1, 100), st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_parents_are_distinct_earlier_and_near(seed: int, prob: float, most: int, count: int) -> None:
    tasks = WorkloadGenerator(seed).generate("uniform", count, dependency_prob=prob, max_dependencies=most)
    for task in tasks:
        assert len(set(task.dependencies)) == len(task.dependencies) <= most
        assert all(max(0, task.task_id - 100) <= parent < task.task_id for parent in task.dependencies)


def test_parents_are_as_many_and_as_far_as_said() -> None:
    n, most = 50_000, 4
    tasks = WorkloadGenerator(6).generate("uniform", n, dependency_prob=0.25, max_dependencies=most)
    counts = np.diff(tasks.parent_start)
    assert (counts > 0).mean() == pytest.approx(0.25, abs=0.01)
    assert np.bincount(counts)[1:] / (counts > 0).sum() == pytest.approx([0.25] * most, abs=0.02)
    back = np.repeat(np.arange(n), counts) - tasks.parents
    assert back.mean() == pytest.approx(50.5, abs=0.6)
    shares = np.bincount(back, minlength=101)[1:] / len(back)
    assert shares == pytest.approx([0.01] * 100, abs=0.0035)
    everyone = WorkloadGenerator(6).generate("uniform", 150, dependency_prob=1.0, max_dependencies=100)
    assert np.diff(everyone.parent_start)[0] == 0
    assert (np.diff(everyone.parent_start)[1:] > 0).all()
    plain = WorkloadGenerator(6).generate("uniform", n)
    assert not plain.has_dependencies
    np.testing.assert_array_equal(plain.size, tasks.size)


def test_a_stream_holds_little() -> None:
    tracemalloc.start()
    for _ in WorkloadGenerator(1).stream("mixed", 1.0, 30_000):
        pass
    streaming = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    batch = list(WorkloadGenerator(1).generate("mixed", 30_000, 1.0))
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(batch) == 30_000
    assert streaming < whole / 3


def test_statistics_and_table_are_those_of_the_last_workload() -> None:
    generator = WorkloadGenerator(1)
    for call in (generator.get_statistics, generator.to_dataframe, lambda: generator.save_workload("never.csv")):
        with pytest.raises(InvalidInputError, match="no workload yet"):
            call()
    tasks = generator.generate("uniform", 400, 10.0, dependency_prob=0.5)
    figures = generator.get_statistics()
    assert figures["num_tasks"] == 400
    assert figures["avg_size"] == pytest.approx(np.mean([task.size for task in tasks]))
    assert figures["avg_intensity"] == pytest.approx(np.mean([task.compute_intensity for task in tasks]))
    assert figures["avg_memory"] == pytest.approx(np.mean([task.memory_required for task in tasks]))
    assert figures["avg_duration"] == pytest.approx(np.mean([task.duration_estimate for task in tasks]))
    assert figures["arrival_rate"] == pytest.approx(399 / (tasks[399].arrival_time - tasks[0].arrival_time))
    assert figures["num_dependencies"] == sum(len(task.dependencies) for task in tasks) > 0
    table = generator.to_dataframe()
    assert table["size"].tolist() == tasks.size.tolist()
    assert [tuple(parents) for parents in table["dependencies"]] == [task.dependencies for task in tasks]
    generator.generate("uniform", 1)
    assert generator.get_statistics()["arrival_rate"] is None


def test_save_and_load_give_back_the_same_tasks(tmp_path: Path) -> None:
    generator = WorkloadGenerator(8)
    tasks = generator.generate("mixed", 300, dependency_prob=0.3)
    generator.save_workload(tmp_path / "deep" / "trace.csv")
    other = WorkloadGenerator(0)
    assert other.load(tmp_path / "deep" / "trace.csv") is other
    assert list(other.workload) == list(tasks)
    assert other.get_statistics() == generator.get_statistics()
    fresh = WorkloadGenerator.load(tmp_path / "deep" / "trace.csv")
    assert list(fresh.workload) == list(tasks)


def test_the_table_has_sizes_under_both_names_and_is_a_trace(tmp_path: Path) -> None:
    generator = WorkloadGenerator(8)
    tasks = generator.generate("mixed", 50, dependency_prob=0.3)
    table = generator.to_dataframe()
    assert table["task_size"].tolist() == table["size"].tolist() == tasks.size.tolist()
    table.to_csv(tmp_path / "table.csv", index=False)
    assert list(WorkloadGenerator.load(tmp_path / "table.csv").workload) == list(tasks)


GOOD: dict[str, Any] = {
    "preset": "mixed",
    "num_tasks": 10,
    "arrival_rate": 2.0,
    "dependency_prob": 0.5,
    "max_dependencies": 2,
}
BAD = [
    ({"num_tasks": 0}, "num_tasks is 0"),
    ({"num_tasks": 10**8 + 1}, "num_tasks is 100000001"),
    ({"num_tasks": 2.5}, "num_tasks is 2.5"),
    ({"arrival_rate": 0.0}, "arrival_rate is 0.0"),
    ({"arrival_rate": -1.0}, "arrival_rate is -1.0"),
    ({"arrival_rate": float("nan")}, "arrival_rate is nan"),
    ({"arrival_rate": float("inf")}, "arrival_rate is inf"),
    ({"arrival_rate": "fast"}, "arrival_rate is 'fast'"),
    ({"dependency_prob": 1.1}, "dependency_prob is 1.1"),
    ({"dependency_prob": float("nan")}, "dependency_prob is nan"),
    ({"max_dependencies": 0}, "max_dependencies is 0"),
    ({"size_range": (0, 10)}, r"size range is \(0, 10\)"),
    ({"size_range": (20, 10)}, r"the lowest comes first: give \(10, 20\)"),
    ({"size_range": (1, 2, 3)}, "two numbers"),
    ({"size_range": (1, float("nan"))}, "two numbers"),
    ({"intensity_range": (0.5, 1.5)}, "intensity range .* within 0 to 1"),
    ({"memory_range": (-1, 5)}, "memory range"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[str(change) for change, _ in BAD])
def test_bad_arguments_are_refused_before_anything_is_drawn(change: dict[str, Any], message: str) -> None:
    generator = WorkloadGenerator(1)
    assert len(generator.generate(**GOOD)) == 10
    with pytest.raises(InvalidInputError, match=message):
        generator.generate(**{**GOOD, **change})
    with pytest.raises(InvalidInputError, match=message):
        generator.stream(**{**GOOD, **change})


@pytest.mark.parametrize("seed", [-1, 1.5, "one", None])
def test_a_bad_seed_is_refused(seed: int) -> None:
    assert WorkloadGenerator(np.int64(1)).seed == 1  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="seed is"):
        WorkloadGenerator(seed)


def test_the_room_is_light_to_import() -> None:
    code = (
        "import sys, hybrid_scheduler.workloads as w; print(sorted({'pandas', 'numba'} & set(sys.modules)), w.PRESETS)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("[] {'mixed'")
