"""Kernels as work: what is timed, what is kept, and where they run."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
import torch

from hybrid_scheduler.hardware.kernels import KERNELS
from hybrid_scheduler.hardware.nodes import kernel_work, kernels_ready
from hybrid_scheduler.hardware.nodes.kernel_work import KernelWarmUp, KernelWork
from hybrid_scheduler.hardware.nodes.kernels_ready import KernelsReady
from hybrid_scheduler.hardware.nodes.lanes import Ending, Job, LaneChange, Place, Report
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

CPU = Place("cpu_0", "cpu")
FLOATS = 4


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Kind and size whenever data is made; nothing is kept from before, and at most the data of one matmul of 100."""
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(kernel_work, "STORE", kernel_work._Store(2 * FLOATS * 100**2, spare=lambda: 0.0))
    for kind, kernel in KERNELS.items():

        def make(size: int, generator: Any, kind: str = kind, original: Any = kernel.make) -> Any:
            log.append((kind, size))
            return original(size, generator)

        monkeypatch.setattr(kernel, "make", make)
    return log


def test_every_kernel_is_a_work() -> None:
    for kind in KERNEL_KINDS:
        work = pickle.loads(pickle.dumps(KernelWork(kind, 30, seed=2)))
        assert work == KernelWork(kind, 30, 2)
        assert work.runs_on("cpu")
        assert work.runs_on("gpu")
        work.prepare(CPU, 0.0, 1.0)
        assert work.run(CPU, 0.0, 1.0).transfer == 0.0
    assert {kind for kind in KERNEL_KINDS if KernelWork(kind, 1).divisible} == {
        "matmul",
        "conv2d",
        "sort",
        "spmm",
        "axpy",
    }


def test_what_is_no_kernel() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'matmul'"):
        KernelWork("matmull", 3)
    with pytest.raises(InvalidInputError, match=r"size of fft is 0, but it must be a whole number from 1"):
        KernelWork("fft", 0)


def test_data_is_made_before_the_work_and_kept(made: list[tuple[str, int]]) -> None:
    work = KernelWork("matmul", 100)
    work.prepare(CPU, 0.0, 1.0)
    assert made == [("matmul", 100)]
    work.run(CPU, 0.0, 1.0)
    work.prepare(CPU, 0.5, 0.5)
    work.run(CPU, 0.5, 0.5)
    assert made == [("matmul", 100)]
    KernelWork("matmul", 100, seed=1).prepare(CPU, 0.0, 1.0)
    assert len(made) == 2
    work.prepare(CPU, 0.0, 1.0)  # there was no room for both
    assert len(made) == 3


def test_small_data_stays_and_what_was_used_last_stays_longest(made: list[tuple[str, int]]) -> None:
    small = [KernelWork("matmul", 50, seed) for seed in range(4)]
    for work in small:
        work.prepare(CPU, 0.0, 1.0)
    small[0].prepare(CPU, 0.0, 1.0)
    assert len(made) == 4
    KernelWork("spmm", 1).prepare(CPU, 0.0, 1.0)
    small[0].prepare(CPU, 0.0, 1.0)
    assert len(made) == 5
    small[1].prepare(CPU, 0.0, 1.0)
    assert len(made) == 6


def test_a_part_has_its_share_of_the_data(made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Size] = []
    monkeypatch.setattr(KERNELS["matmul"], "run", lambda left, right: seen.append(left.shape))
    work = KernelWork("matmul", 10)
    work.prepare(CPU, 0.2, 0.3)
    work.run(CPU, 0.2, 0.3)
    assert seen == [(3, 10)]


def test_without_an_accelerator_it_says_so() -> None:
    for accelerator in (None, *(["cuda"] if not torch.cuda.is_available() else [])):
        with pytest.raises(InvalidInputError, match=r"gpu_0 cannot run kernels: PyTorch .* finds no CUDA or MPS"):
            KernelWork("axpy", 1).prepare(Place("gpu_0", "gpu", accelerator), 0.0, 1.0)


# Chosen when the tests are collected, so that a machine without an accelerator skips nothing.
THERE = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
PLACES = [CPU, *(Place("gpu_0", "gpu", accelerator) for accelerator, there in THERE.items() if there)]


@pytest.mark.parametrize("place", PLACES, ids=[place.device for place in PLACES])
def test_what_is_measured_of_it(place: Place) -> None:
    KernelWarmUp.of([KernelWork(kind, 64) for kind in KERNEL_KINDS]).run(place, 0.0, 1.0)
    work = KernelWork("matmul", 256)
    work.prepare(place, 0.0, 1.0)
    result = work.run(place, 0.0, 1.0)
    assert result.value is None
    assert (result.transfer > 0) == (place.kind == "gpu")
    # What MPS held at most, and what a CPU did, nobody tells.
    assert result.memory_mb >= KERNEL_KINDS["matmul"].megabytes(256) or place.accelerator != "cuda"
    assert math.isnan(result.memory_mb) or place.accelerator == "cuda"


def test_results_are_fetched_into_the_same_memory() -> None:
    store = kernel_work._Store(0)
    large = torch.arange(20.0)
    address = store.fetch(large).data_ptr()
    columns, spectrum, gaps = torch.arange(12.0).view(3, 4).mT, torch.fft.rfft(torch.arange(8.0)), large[::2]
    for result in (large, columns, spectrum, large[:0]):
        got = store.fetch(result)
        assert torch.equal(got, result)
        assert got.stride() == result.stride()
        assert got.data_ptr() in (address, 0)
    assert torch.equal(store.fetch(gaps), gaps)
    larger = store.fetch(torch.arange(100.0))
    assert torch.equal(larger, torch.arange(100.0))


def test_what_warms_up_is_each_kind_and_size_once() -> None:
    tasks = [KernelWork("axpy", 9), KernelWork("sort", 5, 1), KernelWork("axpy", 3), KernelWork("sort", 5, 1)]
    warm_up = KernelWarmUp.of(tasks)
    assert warm_up.works == (KernelWork("axpy", 3), KernelWork("sort", 5, 1), KernelWork("axpy", 9))
    assert warm_up.run(CPU, 0.0, 1.0).value is None


def test_what_warms_up_for_too_long_leaves_out_the_large(
    made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_work, "WARM_UP_SECONDS", -1.0)
    KernelWarmUp.of([KernelWork(kind, size) for kind in ("axpy", "sort") for size in (3, 9)]).run(CPU, 0.0, 1.0)
    assert made == [("axpy", 3), ("sort", 3)]


def test_before_a_stream_every_size_runs_and_the_data_of_all_is_there(
    made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        kernel_work, "STORE", kernel_work._Store(2 * FLOATS * 100**2 + FLOATS * 60_000, spare=lambda: 0.0)
    )
    monkeypatch.setattr(kernels_ready, "STORE", kernel_work.STORE)
    ran: list[tuple[str, int]] = []
    for name, rows in (("matmul", 1), ("sort", 1000)):
        kernel = KERNELS[name]

        def run(data: Any, *rest: Any, name: str = name, rows: int = rows, original: Any = kernel.run) -> Any:
            ran.append((name, len(data) // rows))
            return original(data, *rest)

        monkeypatch.setattr(kernel, "run", run)
    sizes = (("sort", 20), ("matmul", 50), ("matmul", 100), ("sort", 5), ("matmul", 70))
    works = tuple(KernelWork(kind, size) for kind, size in sizes)
    KernelsReady(works).run(CPU, 0.0, 1.0)
    assert sorted(ran[:2]) == [("matmul", 50), ("sort", 5)]
    assert sorted(ran[2:]) == [("matmul", 70), ("matmul", 100), ("sort", 20)]
    made.clear()
    for work in works:
        work.prepare(CPU, 0.0, 1.0)
    assert made == []


def test_where_there_is_less_room_the_data_of_the_first_is_there(
    made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [7, 2, 9, 4, 1, 8, 3, 10, 6, 5]
    monkeypatch.setattr(kernel_work, "STORE", kernel_work._Store(FLOATS * 1000 * 27, spare=lambda: 0.0))
    monkeypatch.setattr(kernels_ready, "STORE", kernel_work.STORE)
    works = [KernelWork("sort", size) for size in sizes]
    KernelsReady(tuple(works)).run(CPU, 0.0, 1.0)
    made.clear()
    for work in works[:5]:  # they need 23 000 numbers, with the next it would be 31 000
        work.prepare(CPU, 0.0, 1.0)
    assert made == []
    works[5].prepare(CPU, 0.0, 1.0)
    assert made == [("sort", 8)]


@pytest.mark.slow
def test_kernels_run_in_lanes() -> None:
    works = [KernelWork(kind, 40) for kind in KERNEL_KINDS]
    lanes = ProcessLanes([Slot(Device("cpu_0", "cpu"))], warm_up=KernelWarmUp.of(works))
    try:
        assert lanes.wait(300.0) == [LaneChange(0, up=True)]
        for number, work in enumerate(works):
            lanes.send(0, Job(number, work))
            (report,) = lanes.wait(300.0)
            assert isinstance(report, Report)
            assert (report.number, report.ending, report.error) == (number, Ending.DONE, None)
            assert report.result.transfer == 0.0
    finally:
        lanes.close()
