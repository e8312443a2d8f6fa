"""Calibration and workers need NumPy, numba and PyTorch; nothing else has to be installed where they run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)

sys.meta_path.insert(0, Absent())
"""
REFUSED = {
    *("pandas", "pydantic", "pydantic_core", "pydantic_settings", "dotenv", "yaml", "typer", "click", "rich"),
    *("sqlalchemy", "sklearn", "scipy", "gymnasium", "fastapi", "matplotlib", "pyarrow", "ray", "cloudpickle"),
}
MODULES = (
    "hybrid_scheduler.hardware",
    "hybrid_scheduler.hardware.calibration",
    "hybrid_scheduler.hardware.calibration_file",
    "hybrid_scheduler.hardware.calibration_import",
    "hybrid_scheduler.hardware.kernels",
    "hybrid_scheduler.hardware.nodes.kernel_work",
    "hybrid_scheduler.hardware.nodes.machine",
    "hybrid_scheduler.hardware.nodes.processes",
    "hybrid_scheduler.hardware.nodes.worker",
    "hybrid_scheduler.physics.calibrated",
)
MEASURE = """
from pathlib import Path
from hybrid_scheduler.hardware.calibration import calibrated_lanes
from hybrid_scheduler.hardware.calibration_file import write_machine
with calibrated_lanes(["axpy"], [10, 20], cpu_lanes=1) as calibration:
    print(write_machine(Path(sys.argv[1]), calibration.run()).read_text())
"""


def without(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", ABSENT.format(refused=REFUSED) + code, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_modules_load_without_the_rest() -> None:
    without("\n".join(f"import {module}" for module in MODULES))


@pytest.mark.slow
def test_a_machine_is_measured_without_the_rest(tmp_path: Path) -> None:
    assert "axpy,20,cpu_0" in without(MEASURE, f"{tmp_path}/node.yaml")
