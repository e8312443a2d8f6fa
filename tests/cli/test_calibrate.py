"""`hms calibrate`: a node from measurements, and a race on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_answer import Hms

from hybrid_scheduler.cli.calibrate import measured as measured_here
from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.physics.device import ClusterSpec

HEADER = "kind,size,cpu_s,cpu_min_s,cpu_max_s,gpu_s,gpu_min_s,gpu_max_s,upload_s,download_s"
FACTORS = (1e-6, 0.9e-6, 1.1e-6, 1e-7, 1e-7, 1.2e-7)
# The CPU takes size² microseconds, the GPU a tenth of that and a millisecond for the data.
ROWS = [
    ",".join(["matmul", str(n), *(str(n * n * factor) for factor in FACTORS), "5e-4", "5e-4"]) for n in (10, 100, 1000)
]


@pytest.fixture
def measured() -> str:
    Path("measured.csv").write_text("\n".join([HEADER, *ROWS, ""]))
    return "measured.csv"


def test_measurements_of_another_machine_make_a_node(hms: Hms, measured: str) -> None:
    document = hms("calibrate", "--from", measured, "--out", "there/node.yaml", "--json", "-").document
    assert document["errors"]["matmul"]["cpu_0"] == pytest.approx(0.0, abs=1e-9)
    Path("tasks.csv").write_text("kind,size,arrival_time\nmatmul,20,0\nmatmul,800,0\n")
    race = ["compare", "--cluster", "there/node.yaml", "--trace", "tasks.csv", "--format", "kernels"]
    race += ["--schedulers", "cpu_only,gpu_only,mct", "--json", "-"]
    physics = hms(*race).document["cluster"]["physics"]
    # The scatter that was measured is the node's noise, unless the command says otherwise.
    assert physics["noise"] == pytest.approx(document["physics"]["noise"], rel=1e-3)
    assert physics["noise"] > 0
    answer = hms(*race, "--noise", 0)
    figures = {name: found["total_time"] for name, found in answer.document["schedulers"].items()}
    assert figures["cpu_only"] == pytest.approx(20**2 * 1e-6 + 800**2 * 1e-6, rel=1e-6)
    assert figures["gpu_only"] == pytest.approx(20**2 * 1e-7 + 800**2 * 1e-7 + 2e-3, rel=1e-6)
    # The small one is done first on the CPU, the large one on the GPU.
    assert figures["mct"] == pytest.approx(20**2 * 1e-6 + 800**2 * 1e-7 + 1e-3, rel=1e-6)
    assert answer.document["cluster"]["physics"]["model"] == "calibrated"


def test_a_size_that_was_not_measured_is_refused(hms: Hms, measured: str) -> None:
    hms("calibrate", "--from", measured)
    Path("tasks.csv").write_text("kind,size\nmatmul,2000\n")
    answer = hms("compare", "--cluster", "node.yaml", "--trace", "tasks.csv", "--format", "kernels")
    assert answer.code == 2
    assert "matmul of size 2000 lies outside what was measured on cpu_0 (10 to 1000)" in answer.err


def test_kernels_are_what_a_calibrated_node_races_on(hms: Hms, measured: str) -> None:
    hms("calibrate", "--from", measured)
    race = ("compare", "--cluster", "node.yaml", "--schedulers", "mct", "--json", "-")
    drawn = hms(*race, "--tasks", 50).document
    assert drawn["workload"]["preset"] == "kernels:kinds=matmul,sizes=10-1000"
    generated = ("generate", "--preset", "kernels:kinds=matmul", "--cluster", "node.yaml", "--tasks", 50)
    hms(*generated, "--out", "kernels.csv")
    assert Path("kernels.csv").read_text().startswith("task_id,kind,size,arrival_time\n0,matmul,")
    # The same tasks, drawn or from the file.
    read = hms(*race, "--trace", "kernels.csv").document
    assert read["schedulers"]["mct"]["makespan"] == pytest.approx(drawn["schedulers"]["mct"]["makespan"])


def test_this_machine_is_measured(hms: Hms) -> None:
    answer = hms("calibrate", "--kinds", "loop,axpy", "--sizes", "10,20")
    assert answer.code == 0
    assert "Wrote node.yaml and node.yaml.csv" in answer.out
    lines = Path("node.yaml.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:5]] == [
        ["loop", "10", "cpu_0"],
        ["loop", "20", "cpu_0"],
        ["axpy", "10", "cpu_0"],
        ["axpy", "20", "cpu_0"],
    ]


@pytest.mark.parametrize(("scatter", "noted"), [(0.5, True), (0.05, False)])
def test_a_busy_machine_is_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scatter: float, noted: bool
) -> None:
    rows = [Measurement("sort", size, "cpu_0", 0.0, size, scatter=scatter) for size in (1.0, 2.0)]
    machine = CalibratedMachine.of(rows, ClusterSpec.default(0), {}, {})

    @contextmanager
    def lanes(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(repeats=7)

    monkeypatch.setattr("hybrid_scheduler.hardware.calibration.calibrated_lanes", lanes)
    monkeypatch.setattr("hybrid_scheduler.scenario.at_work.calibrate_machine", lambda _: machine)
    assert measured_here(["sort"], [1, 2], None, 0) is machine
    assert ("scatter by 50 % in the median" in capsys.readouterr().err) is noted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--kinds", "matmull"), "unknown kernel kind 'matmull'"),
        (("--sizes", "10"), "at least two different ones"),
        (("--sizes", "10,ten"), "whole numbers"),
        (("--from", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_input(hms: Hms, arguments: tuple[str, ...], says: str) -> None:
    answer = hms("calibrate", *arguments)
    assert answer.code == 2
    assert says in answer.err
