"""The example with the folder of matrices works without a GPU."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "executor" / "matrices.py"


@pytest.mark.slow
def test_matrices(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))  # the processes of the lanes import it from there
    importlib.import_module("matrices").main(
        ["--folder", str(tmp_path / "matrices"), "--files", "24", "--largest", "120"]
    )
    said = capsys.readouterr().out
    assert len(list((tmp_path / "matrices").iterdir())) == 24
    assert "always the CPU" in said
    assert "hybrid_queue" in said
    assert ("no GPU here" in said) != ("of the better" in said)
