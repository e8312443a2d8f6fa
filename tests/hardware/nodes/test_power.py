"""Energy counters, of a processor and a GPU that are made up."""

from __future__ import annotations

import ctypes
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.hardware.nodes import power
from hybrid_scheduler.hardware.nodes.power import NvmlGpu, NvmlMeter, RaplMeter, nvml_gpus


def zone(folder: Path, name: str, kind: str, microjoules: int, most: int = 1000) -> Path:
    made = folder / name
    made.mkdir()
    (made / "name").write_text(f"{kind}\n")
    (made / "energy_uj").write_text(f"{microjoules}\n")
    (made / "max_energy_range_uj").write_text(f"{most}\n")
    return made / "energy_uj"


def test_packages_are_added_up_and_counted_once(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 100)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 900)
    for name, kind in (("intel-rapl:0:0", "core"), ("intel-rapl:0:1", "dram"), ("intel-rapl:2", "psys")):
        zone(tmp_path, name, kind, 500)
    meter = RaplMeter.find(tmp_path)
    assert meter is not None
    meter = pickle.loads(pickle.dumps(meter))
    before = meter.read()
    first.write_text("350")
    second.write_text("50")  # it has started again after 1000
    assert meter.between(before, meter.read()) == pytest.approx((250 + 150) * 1e-6)
    assert math.isnan(meter.between(before, before))


def test_a_processor_that_does_not_tell(tmp_path: Path) -> None:
    assert RaplMeter.find(tmp_path) is None
    assert RaplMeter.find(tmp_path / "nowhere") is None
    zone(tmp_path, "intel-rapl:0", "package-0", 100).unlink()
    assert RaplMeter.find(tmp_path) is None


def test_a_counter_that_may_not_be_read(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 100)
    counter = zone(tmp_path, "intel-rapl:1", "package-1", 100)
    counter.unlink()
    counter.mkdir()  # as hard to read, for root too
    assert RaplMeter.find(tmp_path) is None


class MadeUpLibrary:
    """Two GPUs, of which only the first counts energy."""

    def __init__(self) -> None:
        self.millijoules = 5000
        self.open = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802 (NVML's names)
        self.open += 1
        return 0

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.open -= 1
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: ctypes.c_uint, handle: Any) -> int:  # noqa: N802
        handle._obj.value = 100 + number.value
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: ctypes.c_char_p, handle: Any) -> int:  # noqa: N802
        if uuid.value not in (b"GPU-0", b"GPU-1"):
            return 6
        handle._obj.value = 100 + int(uuid.value[-1:])
        return 0

    def nvmlDeviceGetUUID(self, handle: ctypes.c_void_p, text: Any, length: ctypes.c_uint) -> int:  # noqa: N802
        assert handle.value is not None
        text.value = b"GPU-%d" % (handle.value - 100)
        return 0

    def nvmlDeviceGetName(self, handle: ctypes.c_void_p, text: Any, length: ctypes.c_uint) -> int:  # noqa: N802
        text.value = b"Imagined 1"
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: ctypes.c_void_p, memory: Any) -> int:  # noqa: N802
        memory._obj[0] = 16_000_000_000
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: ctypes.c_void_p, energy: Any) -> int:  # noqa: N802
        if handle.value != 100:
            return 3
        energy._obj.value = self.millijoules
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeUpLibrary]:
    made = MadeUpLibrary()
    monkeypatch.setattr(power, "_load", lambda: made)
    power._opened.cache_clear()
    yield made
    power._opened.cache_clear()


def test_gpus_are_found_and_counted(library: MadeUpLibrary) -> None:
    assert nvml_gpus() == [
        NvmlGpu("GPU-0", "Imagined 1", 16_000.0, True),
        NvmlGpu("GPU-1", "Imagined 1", 16_000.0, False),
    ]
    assert library.open == 0
    meter = NvmlMeter("GPU-0")
    before = meter.read()
    library.millijoules += 2500
    assert meter.between(before, meter.read()) == pytest.approx(2.5)


def test_a_gpu_that_does_not_tell(library: MadeUpLibrary) -> None:
    with pytest.raises(OSError, match="nvmlDeviceGetTotalEnergyConsumption of NVML fails with error 3"):
        NvmlMeter("GPU-1").read()
    with pytest.raises(OSError, match="error 6"):
        NvmlMeter("GPU-7").read()


def test_a_driver_that_is_too_old_or_not_there(library: MadeUpLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(MadeUpLibrary, "nvmlDeviceGetCount_v2")
    assert nvml_gpus() == []
    monkeypatch.undo()
    monkeypatch.setattr(power, "NVML_LIBRARY", "libnothing-of-this-name.so.7")
    assert nvml_gpus() == []
