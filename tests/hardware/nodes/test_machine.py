"""How this machine, or one that is made up, is divided into lanes."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.hardware.machine import core_quota, usable_cores
from hybrid_scheduler.hardware.nodes import machine
from hybrid_scheduler.hardware.nodes.lanes import Event, LaneChange
from hybrid_scheduler.hardware.nodes.machine import (
    Accelerator,
    divide,
    find_accelerators,
    find_lanes,
    find_slots,
    pytorch_uses_cuda,
    visible_gpus,
)
from hybrid_scheduler.hardware.nodes.power import NvmlGpu, NvmlMeter, RaplMeter
from hybrid_scheduler.model.errors import InvalidInputError

RAPL = RaplMeter((Path("energy"),), (1.0,))
H200 = [NvmlGpu(f"GPU-{letter}", "NVIDIA H200", 150_000.0, True) for letter in "abc"]
UNLIKE = [NvmlGpu("GPU-a", "slow", 8000.0, True), NvmlGpu("GPU-b", "fast", 24_000.0, True)]


def gpu(number: int) -> Accelerator:
    return Accelerator("fast", 24_000.0, "cuda", (("CUDA_VISIBLE_DEVICES", str(number)),), NvmlMeter(f"GPU-{number}"))


def test_lanes_divide_the_cores() -> None:
    slots = divide(3, [], range(8), 8, rapl=RAPL)
    assert [slot.device.name for slot in slots] == ["cpu_0", "cpu_1", "cpu_2"]
    assert [slot.cores for slot in slots] == [(0, 1), (2, 3), (4, 5, 6)], "and one core is left to whoever decides"
    assert [slot.threads for slot in slots] == [2, 2, 3]
    assert all(dict(slot.variables)["CUDA_VISIBLE_DEVICES"] == "" for slot in slots)
    assert all(slot.meter is None for slot in slots), "nobody can tell whose energy it was"


@pytest.mark.parametrize(("count", "lanes"), [(1, 1), (2, 2), (64, 2)])
def test_by_default_there_is_something_to_decide(count: int, lanes: int) -> None:
    slots = divide(None, [], range(count), count, rapl=RAPL)
    assert len(slots) == lanes
    assert sorted(chain.from_iterable(slot.cores for slot in slots)) == list(range(count - (count == 64)))
    assert (slots[0].meter is RAPL) == (lanes == 1)


def test_beside_gpus_there_is_one_lane_and_each_gpu_has_a_core() -> None:
    cpu, first, second = divide(None, [gpu(0), gpu(1)], range(16), 16, rapl=RAPL)
    assert (cpu.device.name, cpu.cores, cpu.threads, cpu.meter) == ("cpu_0", tuple(range(2, 15)), 13, RAPL)
    assert (first.device.name, first.cores, first.threads) == ("gpu_0", (0,), 1)
    assert (second.device.name, second.cores, second.threads) == ("gpu_1", (1,), 1)
    assert (first.device.kind, first.device.memory_mb, first.accelerator) == ("gpu", 24_000.0, "cuda")
    assert (first.hardware, first.meter) == ("fast", NvmlMeter("GPU-0"))
    environment = second.environment({"CUDA_VISIBLE_DEVICES": "7", "HOME": "/somewhere"})
    assert (environment["CUDA_VISIBLE_DEVICES"], environment["HOME"]) == ("1", "/somewhere")
    assert environment["MALLOC_MMAP_THRESHOLD_"] == str(32 * 2**20)
    assert second.environment({"MALLOC_MMAP_THRESHOLD_": "5"})["MALLOC_MMAP_THRESHOLD_"] == "5"


def test_with_few_cores_gpus_share_them() -> None:
    cpu, first = divide(None, [gpu(0)], range(2), 2)
    assert cpu.cores == first.cores == (0, 1)
    assert first.threads == 2


def test_a_system_that_binds_nothing() -> None:
    slots = divide(2, [gpu(0)], [], 8)
    assert [slot.cores for slot in slots] == [()] * 3
    assert [slot.threads for slot in slots] == [3, 3, 1]


@pytest.mark.parametrize("lanes", [0, -1, 5])
def test_more_lanes_than_cores(lanes: int) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"{lanes} CPU lanes are asked for, but it must be 1 to 4, .* may use$"
    ):
        divide(lanes, [], range(4), 4)
    with pytest.raises(InvalidInputError, match="1 to 3, the cores this process may use less one for each of 1"):
        divide(4, [gpu(0)], range(4), 4)
    with pytest.raises(InvalidInputError, match=r"1 to 7, .* use less one for each of 1 GPUs$"):
        divide(8, [gpu(0)], range(8), 8)
    with pytest.raises(InvalidInputError, match=r"0 CPU lanes .* 1 to 6, .* less one for whoever decides less one"):
        divide(0, [gpu(0)], range(8), 8)


def test_as_many_lanes_as_cores_leave_none_to_spare() -> None:
    assert [slot.cores for slot in divide(8, [], range(8), 8)] == [(core,) for core in range(8)]
    assert [len(slot.cores) for slot in divide(7, [], range(8), 8)] == [1] * 7


def test_all_gpus_where_nothing_is_chosen() -> None:
    found = visible_gpus(H200, {}, "cuda")
    assert [dict(each.variables)["CUDA_VISIBLE_DEVICES"] for each in found] == ["0", "1", "2"]
    assert all(dict(each.variables)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID" for each in found)
    assert [each.meter for each in found] == [NvmlMeter(gpu.uuid) for gpu in H200]


@pytest.mark.parametrize(
    ("chosen", "seen", "metered"),
    [
        ("2,0", ["GPU-c", "GPU-a"], True),
        ("GPU-b", ["GPU-b"], True),
        ("1,-1,0", ["GPU-b"], True),
        ("7", [], True),
    ],
)
def test_gpus_the_user_chose(chosen: str, seen: list[str], metered: bool) -> None:
    found = visible_gpus(H200, {"CUDA_VISIBLE_DEVICES": chosen}, "cuda")
    assert [each.meter for each in found] == [NvmlMeter(uuid) for uuid in seen]
    assert [dict(each.variables)["CUDA_VISIBLE_DEVICES"] for each in found] == chosen.split(",")[: len(seen)]


def test_numbers_of_unlike_gpus_say_nothing_of_the_meter() -> None:
    by_speed = {"CUDA_VISIBLE_DEVICES": "0"}
    (found,) = visible_gpus(UNLIKE, by_speed, "cuda")
    assert found.meter is None
    (found,) = visible_gpus(UNLIKE, by_speed | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "cuda")
    assert found.meter == NvmlMeter("GPU-a")


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """No GPU by NVML; the log of processes that were asked."""
    asked: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps(FOUND))

    monkeypatch.setattr(machine, "nvml_gpus", list)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(machine, "DRIVER_FILES", ())
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return asked


FOUND = [["cuda", "Radeon", 16_000.0], ["cuda", "Radeon", 16_000.0]]


def test_pytorch_is_asked_only_where_there_could_be_something(
    no_driver: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_accelerators({}) == []
    assert no_driver == []
    monkeypatch.setattr(machine, "DRIVER_FILES", (str(tmp_path),))
    assert find_accelerators({"CUDA_VISIBLE_DEVICES": ""}) == []
    assert no_driver == []
    assert find_accelerators({}) == [
        Accelerator("Radeon", 16_000.0, "cuda", (("CUDA_VISIBLE_DEVICES", str(number)),)) for number in (0, 1)
    ]
    found = find_accelerators({"CUDA_VISIBLE_DEVICES": "3,1"})
    assert [dict(each.variables)["CUDA_VISIBLE_DEVICES"] for each in found] == ["3", "1"]
    assert len(no_driver) == 2


@pytest.mark.usefixtures("no_driver")
def test_an_apple_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine, "_ask_pytorch", lambda: [("mps", "Apple GPU", 12_000.0)])
    (found,) = find_accelerators({})
    assert (found.kind, found.variables, found.meter) == ("mps", (), None)
    _, lane = divide(None, [found], machine.bindable_cores(), 8)
    assert (lane.accelerator, lane.cores) == ("mps", ())
    assert "CUDA_VISIBLE_DEVICES" not in lane.environment({})


def test_what_pytorch_says_is_understood() -> None:
    # It is asked for real: here it finds what it finds.
    for kind, name, memory_mb in machine._ask_pytorch():
        assert kind in ("cuda", "mps")
        assert name
        assert memory_mb > 0


def test_a_build_of_pytorch_is_known_without_loading_it() -> None:
    import torch

    assert pytorch_uses_cuda() == (torch.version.cuda is not None or torch.version.hip is not None)


def test_gpus_pytorch_cannot_use_are_left_out_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_accelerators", lambda: [Accelerator("fast", 8000.0, None)])
    assert [slot.device.kind for slot in find_slots()] == ["cpu", "gpu"]
    assert all(slot.device.kind == "cpu" for slot in find_slots(for_pytorch=True))


def test_a_container_that_is_given_time_binds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_accelerators", list)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(machine, "usable_cores", lambda: 4)
    assert [(slot.cores, slot.threads) for slot in find_slots(2)] == [((), 2), ((), 2)]


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "250000 100000"}, 2.5),
        ({"cpu.max": "max 100000"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, math.inf),
        ({}, math.inf),
    ],
)
def test_the_time_a_container_is_given(tmp_path: Path, files: dict[str, str], quota: float) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert core_quota(tmp_path) == quota


def test_the_lanes_of_this_machine_come_up() -> None:
    lanes = find_lanes(1)
    try:
        assert lanes.cluster.names[0] == "cpu_0"
        assert lanes.hardware[0].startswith("CPU, ")
        assert math.isinf(lanes.cluster.devices[0].memory_mb)
        assert sum(slot.threads for slot in lanes.slots if slot.device.kind == "cpu") <= usable_cores()
        events: list[Event] = []
        while len(events) < len(lanes.slots):
            events += lanes.wait(120.0)
        assert sorted(events, key=lambda event: event.lane) == [
            LaneChange(lane, up=True) for lane in range(len(lanes.slots))
        ]
    finally:
        lanes.close()
