"""Compiled code must not outlive an edit of a file it was inlined from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hybrid_scheduler
from hybrid_scheduler.compile_cache import is_empty

PROBE = "import os, hybrid_scheduler; print(os.environ['NUMBA_CACHE_DIR'])"


def folder_chosen_by(package_home: Path, **environment: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(package_home), **environment}
    if "NUMBA_CACHE_DIR" not in environment:
        variables.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", PROBE], env=variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_every_state_of_the_sources_has_its_own_folder(tmp_path: Path) -> None:
    package = tmp_path / "hybrid_scheduler"
    shutil.copytree(Path(hybrid_scheduler.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = folder_chosen_by(tmp_path)
    assert folder_chosen_by(tmp_path) == before
    Path(before).mkdir(parents=True)
    os.utime(before, (0, 0))
    edited = package / "cluster" / "queues.py"
    edited.write_text(edited.read_text() + "\n# an edit\n")
    after = folder_chosen_by(tmp_path)
    assert after != before
    assert not Path(before).exists()
    assert folder_chosen_by(tmp_path, NUMBA_CACHE_DIR=before) == after  # inherited from another state of the sources
    deeper = package / "learning" / "dqn" / "network.py"
    deeper.write_text(deeper.read_text() + "\n# an edit\n")
    assert folder_chosen_by(tmp_path) != after


def test_a_folder_the_user_chose_is_left_alone(tmp_path: Path) -> None:
    home = Path(hybrid_scheduler.__file__).parents[1]
    assert folder_chosen_by(home, NUMBA_CACHE_DIR=str(tmp_path)) == str(tmp_path)


def test_it_is_known_whether_anything_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert is_empty()
    (tmp_path / "cluster_123").mkdir()
    (tmp_path / "cluster_123" / "loop.run-1.py311.nbi").touch()
    assert not is_empty()
