"""The arithmetic of a profile, on machines whose times are known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from made_up_machine import MadeUpMachine, made_up

from hybrid_scheduler.hardware import HardwareProfile, HardwareProfiler
from hybrid_scheduler.model import InvalidInputError

SIZES = (100, 200, 1000)


def profiled(machine: MadeUpMachine, sizes: tuple[int, ...] = SIZES, **options: Any) -> HardwareProfile:
    return HardwareProfiler(machine=machine, clock=machine.clock, **options).profile_range(sizes)


def test_times_per_size() -> None:
    found = profiled(made_up())
    assert [each.size for each in found.sizes] == list(SIZES)
    for each in found.sizes:
        assert each.gpu
        assert each.upload
        assert each.download
        assert each.gpu_end_to_end
        work, matrix = 2 * each.size**3, 4 * each.size**2
        assert each.cpu.median == pytest.approx(work / 1e9)
        assert each.gpu.median == pytest.approx(work / 8e9)
        assert each.upload.median == pytest.approx(2 * (1e-5 + matrix / 2e9))
        assert each.download.median == pytest.approx(1e-5 + matrix / 2e9)
        parts = each.upload.median + each.gpu.median + each.download.median
        assert each.gpu_end_to_end.median == pytest.approx(parts)
        assert each.cpu_gpu_ratio == pytest.approx(8)
        assert each.end_to_end_ratio == pytest.approx(each.cpu.median / parts)
        assert each.gpu_fraction == pytest.approx(8 / 9)
    assert found.cpu_gpu_ratio == pytest.approx(8)
    assert found.gpu_fraction == pytest.approx(8 / 9)
    assert 1 < found.end_to_end_ratio < 8


def test_an_accelerator_slower_than_the_cpu_gets_less_than_half() -> None:
    found = profiled(made_up(flops=0.25e9))
    assert found.cpu_gpu_ratio == pytest.approx(0.25)
    assert found.gpu_fraction == pytest.approx(0.2)


def test_overall_ratio_is_the_geometric_mean() -> None:
    machine = made_up()
    accelerator = machine.accelerator
    assert accelerator is not None
    plain, overhead = accelerator.multiply, 0.004

    def multiply(left: object, right: object, out: object) -> None:
        plain(left, right, out)  # type: ignore[arg-type]
        accelerator.pending += overhead  # small products gain little, large ones much

    accelerator.multiply = multiply  # type: ignore[method-assign]
    found = profiled(machine)
    ratios = [each.cpu_gpu_ratio for each in found.sizes]
    assert ratios == pytest.approx([2 * n**3 / 1e9 / (2 * n**3 / 8e9 + overhead) for n in SIZES])
    mean = math.prod(ratios) ** (1 / 3)
    assert found.cpu_gpu_ratio == pytest.approx(mean)
    assert found.gpu_fraction == pytest.approx(mean / (1 + mean))
    assert ratios[0] < 1 < mean < ratios[2]


def test_bandwidth_in_every_direction() -> None:
    machine = made_up()
    found = {(each.direction, each.memory): each for each in profiled(machine).transfers}
    assert list(found) == [
        ("host_to_host", "pageable"),
        ("host_to_device", "pageable"),
        ("device_to_host", "pageable"),
        ("host_to_device", "pinned"),
        ("device_to_host", "pinned"),
    ]
    for (direction, memory), each in found.items():
        bytes_per_second = 4e9 if direction == "host_to_host" or memory == "pinned" else 2e9
        latency = 0.0 if direction == "host_to_host" else 1e-5
        assert each.megabytes == 128
        assert each.mb_per_second == pytest.approx(128 / (latency + 128e6 / bytes_per_second))
        assert each.latency.median == pytest.approx(latency + 4 / bytes_per_second)
    assert machine.accelerator is not None
    assert {"fill cpu", "fill cuda", "fill pinned"} <= set(machine.accelerator.asked_for)  # never unwritten pages


def test_without_pinned_memory_there_is_no_such_figure() -> None:
    found = profiled(made_up(kind="mps"))
    assert {each.memory for each in found.transfers} == {"pageable"}
    assert found.to_json()["accelerator"] == {"kind": "mps", "name": "loom", "memory_mb": 8000.0}


def test_without_accelerator_the_cpu_alone() -> None:
    found = profiled(made_up(accelerator=False))
    assert math.isnan(found.cpu_gpu_ratio)
    assert math.isnan(found.end_to_end_ratio)
    assert found.gpu_fraction == 0.0
    document = found.to_json()
    assert document["accelerator"] is None
    assert document["note"] == "no accelerator: made up without one"
    assert list(document["bandwidth"]) == ["host_to_host"]  # type: ignore[call-overload]
    first = document["sizes"][0]  # type: ignore[index]
    assert first["cpu_seconds"] == pytest.approx(0.002)
    assert (first["gpu_seconds"], first["cpu_gpu_ratio"], first["gpu_fraction"]) == (None, None, 0.0)


def test_attributes_by_name() -> None:
    found = profiled(made_up())
    assert found["cpu_gpu_ratio"] == found.cpu_gpu_ratio == pytest.approx(8)
    assert {name: found[name] for name in found} == {name: getattr(found, name) for name in found}
    assert {"gpu_fraction", "sizes", "wall_seconds"} <= set(found)
    assert len(found) == len(set(found))
    with pytest.raises(KeyError, match="a profile has no 'gpu', only cpu_gpu_ratio, "):
        _ = found["gpu"]


def test_few_repeats_of_what_takes_long() -> None:
    found = profiled(made_up(), (100, 600, 1000), repeats=9)
    assert [each.cpu.count for each in found.sizes] == [9, 3, 3]
    assert [each.cpu.count for each in profiled(made_up(), (100, 1000), repeats=1).sizes] == [1, 1]


def test_the_machine_is_held_steady_and_let_go() -> None:
    machine = made_up()
    profiled(machine, threads=3)
    assert (machine.held, machine.let_go) == ([3], 1)


def test_steps_are_reported_as_they_begin() -> None:
    machine = made_up()
    steps: list[str] = []
    HardwareProfiler(machine=machine, clock=machine.clock).profile_range(SIZES, steps.append)
    assert steps == ["100", "200", "1000", "transfers"]


@pytest.mark.parametrize(("share", "warned"), [(1.0, False), (0.9, False), (0.5, True)])
def test_a_busy_machine_is_pointed_out(share: float, warned: bool) -> None:
    found = profiled(made_up(share=share))
    assert found.cpu_share == pytest.approx(share)
    assert (found.warning is not None) is warned
    if warned:
        assert "2 threads ran only 50%" in str(found.warning)


def test_saving_makes_folders_and_measures_when_nothing_was(tmp_path: Path) -> None:
    machine = made_up()
    profiler = HardwareProfiler(machine=machine, clock=machine.clock)
    path = profiler.save_profile(tmp_path / "a" / "b" / "profile.json")
    assert [each["size"] for each in json.loads(path.read_text())["sizes"]] == [256, 512, 1024, 2048]
    found = profiler.profile_range([64])
    assert json.loads(profiler.save_profile(str(path)).read_text()) == found.to_json()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        profiler.save_profile(path / "below a file.json")


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ([], "no size"),
        ([0], "size 0 must be a whole number from 1 to 16384"),
        ([-5], "size -5"),
        ([16385], "size 16385"),
        ([2.5], "size 2.5"),
        ([256.0], "size 256.0"),
        (["256"], "size '256'"),
        ([True], "size True"),
        ([None], "size None"),
        ([64, 128, 64], "size 64 is given twice"),
        (256, "sizes is 256"),
    ],
)
def test_wrong_sizes(sizes: list[int], says: str) -> None:
    machine = made_up()
    with pytest.raises(InvalidInputError, match=says):
        HardwareProfiler(machine=machine, clock=machine.clock).profile_range(sizes)
    assert machine.held == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"device_type": "gpu"}, "unknown device type 'gpu'"),
        ({"device_type": "cud"}, "did you mean 'cuda'"),
        ({"repeats": 0}, "repeats is 0"),
        ({"repeats": 2.5}, "repeats is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_wrong_arguments(options: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        HardwareProfiler(machine=made_up(), **options)  # type: ignore[arg-type]


def test_a_size_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 250_000, "SC_PAGE_SIZE": 4000}.__getitem__)
    machine = made_up()
    profiler = HardwareProfiler(machine=machine, clock=machine.clock, repeats=1)
    assert profiler.profile_range([9000]).sizes
    with pytest.raises(InvalidInputError, match=r"16384 needs about 3\.2 GB of memory, but this machine has 1\.0 GB"):
        profiler.profile_range([64, 16384])
