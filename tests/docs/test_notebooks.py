"""The notebooks run from top to bottom, and are kept with their outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
nbformat.write(notebook, "executed.ipynb")
"""


def test_there_are_three() -> None:
    assert [each.stem for each in NOTEBOOKS] == ["first_race", "train_a_forest", "train_your_own_agent"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(tmp_path / "ipython")}
    environment.pop("MPLBACKEND", None)  # the kernel shows pictures its own way
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    executed = nbformat.read(tmp_path / "executed.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    shown = [output for cell in executed.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"], "a notebook should not warn"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_with_its_outputs(path: Path) -> None:
    """As `scripts/run_notebooks.py` leaves them: every cell run once, in order, and nothing of the machine in them."""
    read = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in read.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("text/html" in output.get("data", {}) or output.output_type == "stream" for output in outputs)
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    for word in ("/home/", "/root/", "/tmp/", "site-packages"):
        assert word not in path.read_text(encoding="utf-8")
