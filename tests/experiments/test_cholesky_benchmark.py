"""What the benchmark on measured kernels promises: the table of any machine, who is not there, and its document."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cholesky.py"
HEAD = "machine,codelet,device_type,footprint_hash,size_bytes,mean_us,not_measured_flag"
TILE = 960 * 960 * 4
KERNELS = {"potrf": (1, 1000.0, 4000.0), "trsm": (2, 8000.0, 1000.0), "gemm": (3, 80_000.0, 2000.0)}


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cholesky_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(folder: Path, kernels: dict[str, tuple[int, float, float]] = KERNELS) -> Path:
    rows = [
        f"box,chol_model_{kind},{device},{kind},{tiles * TILE},{time},"
        for kind, (tiles, *times) in kernels.items()
        for device, time in zip(("cpu", "cuda"), times, strict=True)
    ]
    path = folder / "kernel_times.csv"
    path.write_text("\n".join([HEAD, *rows, ""]))
    return path


def test_syrk_is_half_of_gemm_where_nobody_measured_it(benchmark: ModuleType, tmp_path: Path) -> None:
    times = benchmark.times_of_kinds(table(tmp_path), "box")
    assert times == {"potrf": (0.001, 0.004), "trsm": (0.008, 0.001), "gemm": (0.08, 0.002), "syrk": (0.04, 0.001)}
    own = {**KERNELS, "syrk": (2, 50_000.0, 1500.0)}
    assert benchmark.times_of_kinds(table(tmp_path, own), "box")["syrk"] == (0.05, 0.0015)
    with pytest.raises(SystemExit, match="box did not measure trsm with tiles of 960"):
        benchmark.times_of_kinds(table(tmp_path, {k: v for k, v in KERNELS.items() if k != "trsm"}), "box")


def test_the_document(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--machine", "box", "--tiles", "2,4", "--schedulers", "mct,sjf,nobody", "--json", "-"]
    monkeypatch.setattr(sys, "argv", ["cholesky.py", str(table(tmp_path)), *arguments])
    assert benchmark.main() == 0
    said = capsys.readouterr()
    assert "nobody is left out: no scheduler of that name is registered" in said.err
    document = json.loads(said.out)
    assert document["best_learned_over_best_classic"] is None
    assert list(document["sizes"]) == ["2x2", "4x4"]
    for size in document["sizes"].values():
        assert set(size["makespan_over_bound"]) == {"mct", "sjf"}
        assert min(size["makespan_over_bound"].values()) >= 1.0
    # Two tiles a side are a chain of four kernels of a millisecond each, on the device that suits each best.
    two = document["sizes"]["2x2"]
    assert 0.003 < two["bound"] <= 0.004
    assert two["makespan_over_bound"]["mct"] * two["bound"] >= 0.004 - 1e-9
