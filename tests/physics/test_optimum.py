"""The oracle's search against a plain grid; the closed form against the search, bit for bit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.model.device_columns import AVAILABLE, CPU, DEVICE_COLUMNS, GPU, KIND, MEMORY, NODE
from hybrid_scheduler.model.kernel import FACT_COUNT, PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.optimum import best_idle_seconds, earliest_finish, idle_optimum

Parts = list[tuple[int, float, float]]


@dataclass
class Node:
    """One random node with one random task."""

    devices: FloatArray
    times: FloatArray
    free: FloatArray
    facts: FloatArray
    memory: float


# Few round numbers make equal devices and exact ties common; neighbours of 1 make ties that only rounding decides.
seconds = st.one_of(
    st.sampled_from([0.5, 1.0, 1.05, 1.1, 2.0, 4.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), 1.0 + 4e-16]),
    st.floats(1e-6, 1e3),
)
fixed_seconds = st.one_of(st.just(0.0), st.sampled_from([0.25, 1.0, 1e3]), st.floats(0.0, 2.0))


@st.composite
def nodes(draw: st.DrawFn, idle: bool = False) -> Node:
    kinds = draw(st.permutations([CPU] * draw(st.integers(0, 3)) + [GPU] * draw(st.integers(0, 5))))
    count = len(kinds)
    devices = np.zeros((count, DEVICE_COLUMNS))
    times, free = np.zeros((2, count)), np.zeros(count)
    places = draw(st.integers(1, 3))
    for i, kind in enumerate(kinds):
        devices[i, KIND] = kind
        devices[i, NODE] = draw(st.integers(0, places - 1))
        devices[i, MEMORY] = draw(st.sampled_from([math.inf, 100.0, 45.0, 35.0, 4.0])) if kind == GPU else math.inf
        devices[i, AVAILABLE] = draw(st.sampled_from([1.0, 1.0, 1.0, 0.0]))
        times[FIXED, i], times[SHARED, i] = draw(fixed_seconds), draw(seconds)
        free[i] = 0.0 if idle else draw(st.one_of(st.just(0.0), st.floats(0.0, 20.0)))
    facts = np.zeros(FACT_COUNT)
    facts[SPLIT] = draw(st.sampled_from([0.0, 1.0]))
    facts[PENALTY] = draw(st.one_of(st.sampled_from([0.0, 0.05, 1.0]), st.floats(0.0, 1.0)))
    return Node(devices, times, free, facts, draw(st.one_of(st.sampled_from([0.0, 50.0, 70.0]), st.floats(0.0, 300.0))))


def split_finish(node: Node, now: float, gpu: int, cpu: int, share: float) -> tuple[float, Parts]:
    """Finish and parts of one split, written from the specification."""
    serial = node.facts[SPLIT] == 1.0
    stretch = 1.0 if serial else 1.0 + node.facts[PENALTY]
    gpu_seconds = (node.times[FIXED, gpu] + share * node.times[SHARED, gpu]) * stretch
    cpu_seconds = (node.times[FIXED, cpu] + (1.0 - share) * node.times[SHARED, cpu]) * stretch
    gpu_end = max(now, node.free[gpu]) + gpu_seconds
    cpu_end = max(now, node.free[cpu], gpu_end if serial else 0.0) + cpu_seconds
    return max(gpu_end, cpu_end), [(gpu, share, gpu_seconds), (cpu, 1.0 - share, cpu_seconds)]


def plain_grid(node: Node, now: float) -> tuple[float, Parts]:
    """Every option in order, nothing left out."""
    rows = range(len(node.devices))
    up = [i for i in rows if node.devices[i, AVAILABLE] > 0]
    cpus = [i for i in up if node.devices[i, KIND] == CPU]
    options: list[tuple[float, Parts]] = []

    def whole(device: int) -> tuple[float, Parts]:
        duration = node.times[FIXED, device] + node.times[SHARED, device]
        return max(now, node.free[device]) + duration, [(device, 1.0, duration)]

    options += [whole(cpu) for cpu in cpus]
    for gpu in (i for i in up if node.devices[i, KIND] == GPU):
        for k in range(1, 20):
            if k / 20 * node.memory <= node.devices[gpu, MEMORY]:
                near = [cpu for cpu in cpus if node.devices[cpu, NODE] == node.devices[gpu, NODE]]
                options += [split_finish(node, now, gpu, cpu, k / 20) for cpu in near]
        if node.memory <= node.devices[gpu, MEMORY]:
            options.append(whole(gpu))
    return min(options, key=lambda option: option[0], default=(math.inf, []))


def search(node: Node, now: float) -> Parts:
    out = np.full((2, 3), np.nan)
    parts = earliest_finish(now, node.memory, node.devices, node.times, node.free, node.facts, out)
    return [(int(device), float(share), float(expected)) for device, share, expected in out[:parts]]


@settings(max_examples=200, deadline=None)
@given(nodes(), st.floats(0.0, 10.0))
def test_search_takes_the_first_best_option_of_the_grid(node: Node, now: float) -> None:
    assert search(node, now) == plain_grid(node, now)[1]


@settings(max_examples=500, deadline=None)
@given(nodes(idle=True))
def test_closed_form_is_the_grid_on_an_idle_node(node: Node) -> None:
    finish, parts = plain_grid(node, 0.0)
    device, cpu, fraction, best = idle_optimum(node.times[None], np.array([node.memory]), node.devices, node.facts)
    assert best[0] == finish
    if not parts:
        assert (device[0], cpu[0]) == (-1, -1)
        return
    assert device[0] == parts[0][0]
    on_cpu = node.devices[parts[-1][0], KIND] == CPU
    assert cpu[0] == (parts[-1][0] if on_cpu else -1)
    on_gpu = node.devices[parts[0][0], KIND] == GPU
    assert fraction[0] == (parts[0][1] if on_gpu else 0.0)


@settings(max_examples=250, deadline=None)
@given(nodes(idle=True), st.floats(1e-6, 1.0 - 1e-6))
def test_no_decision_beats_the_continuous_optimum(node: Node, share: float) -> None:
    bound = best_idle_seconds(node.times[None], np.array([node.memory]), node.devices, node.facts)[0]
    assert bound <= plain_grid(node, 0.0)[0]
    up = node.devices[:, AVAILABLE] > 0
    for gpu in np.flatnonzero(up & (node.devices[:, KIND] == GPU)):
        for cpu in np.flatnonzero(up & (node.devices[:, KIND] == CPU)):
            if node.devices[gpu, NODE] != node.devices[cpu, NODE]:
                continue
            total = node.times[SHARED, gpu] + node.times[SHARED, cpu]
            even = (node.times[FIXED, cpu] + node.times[SHARED, cpu] - node.times[FIXED, gpu]) / total
            edge = node.devices[gpu, MEMORY] / node.memory if node.memory > 0 else 1.0
            for f in (share, even, math.nextafter(even, 0.0), math.nextafter(even, 1.0), edge, math.nextafter(edge, 1)):
                if 0.0 < f < 1.0 and f * node.memory <= node.devices[gpu, MEMORY]:
                    assert bound <= split_finish(node, 0.0, int(gpu), int(cpu), f)[0]


@settings(max_examples=100, deadline=None)
@given(nodes(idle=True))
def test_continuous_optimum_is_reached(node: Node) -> None:
    """A bound of 0 would pass the test above; a fine grid must come close to it."""
    bound = best_idle_seconds(node.times[None], np.array([node.memory]), node.devices, node.facts)[0]
    best = plain_grid(node, 0.0)[0]
    steepest = 0.0
    up = node.devices[:, AVAILABLE] > 0
    for gpu in np.flatnonzero(up & (node.devices[:, KIND] == GPU)):
        for cpu in np.flatnonzero(up & (node.devices[:, KIND] == CPU)):
            if node.devices[gpu, NODE] == node.devices[cpu, NODE]:
                steepest = max(steepest, 2.0 * node.times[SHARED, gpu], 2.0 * node.times[SHARED, cpu])
                for f in np.linspace(0.0, 1.0, 401)[1:-1]:
                    if f * node.memory <= node.devices[gpu, MEMORY]:
                        best = min(best, split_finish(node, 0.0, int(gpu), int(cpu), f)[0])
    # Between two points of the fine grid a finish changes by at most a step times the longer part, stretched.
    assert best == bound or best - bound <= steepest / 400 + 1e-12 * best


@pytest.mark.parametrize(("split", "expected"), [(0.0, 0.8), (1.0, 1.0)])
def test_example_by_hand(split: float, expected: float) -> None:
    """A GPU four times as fast, no penalty: 4/5 there; in series all of it."""
    devices = ClusterSpec.default(1).public_table()
    times = np.array([[[0.0, 0.0], [4.0, 1.0]]])
    device, cpu, fraction, best = idle_optimum(times, np.array([10.0]), devices, np.array([split, 0.0, 0.0]))
    assert (device[0], fraction[0], best[0]) == (1, expected, pytest.approx(expected))
    assert cpu[0] == (0 if split == 0.0 else -1)


@pytest.mark.parametrize("cpu_seconds", [(1.0,), (1.05, 1.0), (1.0, 1.05), (1.0, 1.0)])
def test_equal_finishes_go_to_the_smaller_fraction(cpu_seconds: tuple[float, ...]) -> None:
    """55 % on the CPU of 1 s takes exactly as long as 50 % on the GPU of 1.1 s: 0.45 beats 0.5, whatever the row."""
    count = len(cpu_seconds) + 1
    devices = np.zeros((count, DEVICE_COLUMNS))
    devices[-1, KIND], devices[:, AVAILABLE], devices[:, MEMORY] = GPU, 1.0, math.inf
    node = Node(devices, np.array([[0.0] * count, [*cpu_seconds, 1.1]]), np.zeros(count), np.zeros(FACT_COUNT), 1.0)
    device, cpu, fraction, best = idle_optimum(node.times[None], np.ones(1), devices, node.facts)
    assert (device[0], fraction[0], best[0]) == (count - 1, 0.45, 0.55)
    assert cpu[0] == cpu_seconds.index(1.0)
    assert search(node, 0.0) == plain_grid(node, 0.0)[1]
