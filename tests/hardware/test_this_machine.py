"""The profiler on the machine the tests run on, with whatever devices it has."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import torch

from hybrid_scheduler.hardware import HardwareProfile, HardwareProfiler, find_machine, torch_backend
from hybrid_scheduler.hardware.torch_backend import plain_float32
from hybrid_scheduler.model import InvalidInputError

SIZES = (32, 128)
THERE = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
# Chosen when the tests are collected, so that a machine without an accelerator skips nothing.
MEASURED = ["auto", "cpu", *(kind for kind, there in THERE.items() if there)]
MISSING = [kind for kind, there in THERE.items() if not there]


@pytest.fixture(scope="module", params=MEASURED)
def profile(request: pytest.FixtureRequest) -> HardwareProfile:
    return HardwareProfiler(request.param, repeats=5).profile_range(SIZES)


def test_real_figures(profile: HardwareProfile) -> None:
    assert [each.size for each in profile.sizes] == list(SIZES)
    for timing in [each.cpu for each in profile.sizes] + [each.large for each in profile.transfers]:
        assert 0 < timing.minimum <= timing.median <= timing.maximum < 60
        assert 3 <= timing.count <= 5
    assert all(100 < each.mb_per_second < 1e7 for each in profile.transfers)
    assert profile.machine["cpu"]
    assert profile.machine["threads"] == torch.get_num_threads()
    assert profile.machine["torch"] == torch.__version__
    assert 0 < profile.wall_seconds < 60


def test_accelerator_or_the_reason_why_not(profile: HardwareProfile) -> None:
    if profile.accelerator is None:
        assert profile.note
        assert (f"{profile['cpu_gpu_ratio']:.2f}", profile["gpu_fraction"]) == ("nan", 0.0)
        return
    assert profile.note is None
    assert profile.accelerator["name"]
    for each in profile.sizes:
        assert each.gpu
        assert each.gpu_end_to_end
        assert 0 < each.gpu.median < each.gpu_end_to_end.median
    assert not math.isnan(profile.cpu_gpu_ratio)
    assert 0 < profile.gpu_fraction < 1


@pytest.mark.parametrize("device_type", MISSING)
def test_an_accelerator_that_is_not_there(device_type: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{device_type}' is not there: PyTorch .* finds cpu.*'auto'"):
        HardwareProfiler(device_type)


def test_products_are_right() -> None:
    machine = find_machine("auto")
    for backend in filter(None, (machine.cpu, machine.accelerator)):
        left, right, out = (backend.allocate(64, 64) for _ in range(3))
        backend.fill(left, 1)
        backend.fill(right, 2)
        backend.multiply(left, right, out)
        back = machine.cpu.allocate(64, 64)
        backend.copy(out, back)
        backend.synchronize()
        torch.testing.assert_close(back, (left.double().cpu() @ right.double().cpu()).float())
        again = backend.allocate(64, 64)
        backend.fill(again, 1)
        assert torch.equal(left, again)
        assert left.std().item() > 0.5


def _state() -> list[object]:
    def named() -> str:
        try:
            return torch.get_float32_matmul_precision()
        except RuntimeError:
            return "per device"

    matmul, mkldnn = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    conv, rnn = torch.backends.cudnn.conv, torch.backends.cudnn.rnn  # type: ignore[attr-defined]
    precisions = [each.fp32_precision for each in (matmul, mkldnn, conv, rnn)]
    return [named(), *precisions, torch.get_num_threads(), torch.initial_seed()]


def _per_device() -> None:
    torch.backends.cuda.matmul.fp32_precision = "tf32"


CHOICES: dict[str, Callable[[], object]] = {
    "untouched": lambda: None,
    "everywhere": lambda: torch.set_float32_matmul_precision("medium"),
    "the older way": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "per device": _per_device,
    "convolutions": lambda: setattr(torch.backends.cudnn.conv, "fp32_precision", "ieee"),  # type: ignore[attr-defined]
    "convolutions the older way": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
}


@pytest.fixture
def precision_restored() -> Iterator[None]:
    with plain_float32():
        yield


def test_a_pytorch_with_the_older_switches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2.9 there was no `fp32_precision`."""
    monkeypatch.setattr(torch_backend, "SWITCHES", (("cuda", "matmul"), ("cudnn", "none_such")))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with plain_float32():
            assert torch.get_float32_matmul_precision() == "highest"
            assert torch.backends.cudnn.allow_tf32 is False
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("precision_restored")
@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_nothing_of_pytorchs_state_stays_changed(choose: Callable[[], object]) -> None:
    choose()
    before = _state()
    inside: list[object] = []

    def look(step: str) -> None:
        inside[:] = [torch.backends.cuda.matmul.allow_tf32, torch.get_float32_matmul_precision()]
        inside.append(torch.backends.cudnn.allow_tf32)
        inside.append(torch.get_num_threads())

    HardwareProfiler("cpu", repeats=1, threads=1).profile_range([8], look)
    assert inside == [False, "highest", False, 1]
    assert _state() == before
    with pytest.raises(InvalidInputError, match="broken"):
        HardwareProfiler("cpu", repeats=1, threads=1).profile_range([8], _fail)
    assert _state() == before


def _fail(step: str) -> None:
    raise InvalidInputError("broken")


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(InvalidInputError, match="do not fit on cpu"):
        find_machine("cpu").cpu.allocate(2**24, 2**24)


def _in_a_fresh_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_without_pytorch_the_extra_is_named() -> None:
    said = _in_a_fresh_process(
        "import sys; sys.modules['torch'] = None\n"
        "from hybrid_scheduler.hardware import HardwareProfiler\n"
        "try: HardwareProfiler()\n"
        "except ValueError as error: print(error)"
    )
    assert "hybrid-ml-scheduler[learning]" in said


def test_importing_it_needs_numpy_alone() -> None:
    others = ("torch", "numba", "pandas", "pydantic", "typer", "rich", "yaml")
    code = f"import sys, hybrid_scheduler.hardware; print([name for name in {others} if name in sys.modules])"
    assert _in_a_fresh_process(code) == "[]"
