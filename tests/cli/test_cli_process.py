"""The command as a process of its own: speed of the answer, streams, exit codes."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hybrid_scheduler
from hybrid_scheduler import cli
from hybrid_scheduler.model.errors import SchedulerError

HMS = [sys.executable, "-m", "hybrid_scheduler"]
HEAVY = ("numpy", "numba", "pandas", "pydantic", "torch", "rich")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HMS, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_help_answers_at_once(tmp_path: Path) -> None:
    seconds = []
    for _ in range(3):
        began = sum(os.times()[2:4])  # of the processor, for children: a busy machine does not count
        answer = run(tmp_path, "--help")
        seconds.append(sum(os.times()[2:4]) - began)
        assert answer.returncode == 0
    assert min(seconds) < 0.5
    for command in ("compare", "generate", "schedulers"):
        assert command in answer.stdout


def test_nothing_heavy_is_imported_for_help() -> None:
    code = f"import sys, hybrid_scheduler.cli; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_standard_output_holds_the_document_alone(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("size,compute_intensity,memory_required\n500,0.5,10\n")
    answer = run(tmp_path, "compare", "--schedulers", "mct,oracle", "--trace", "trace.csv", "--json", "-")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["workload"]["tasks"] == 1
    assert answer.stderr.startswith("note: ")


def test_bad_input_leaves_with_2(tmp_path: Path) -> None:
    answer = run(tmp_path, "compare", "--preset", "mixd")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout.strip() == f"hms {hybrid_scheduler.__version__}"


def test_a_reader_who_leaves_early_is_no_drama(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*HMS, "compare", "--schedulers", "mct", "--tasks", "20"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [*HMS, "compare", "--schedulers", "mct", "--tasks", "20"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert answer.returncode == 2
    assert answer.stderr.splitlines() == ["hms compare: No space left on device"]


@pytest.mark.parametrize(("interrupted", "code"), [(True, 130), (False, 2)])
def test_an_interrupt_that_was_swallowed_is_still_one(
    interrupted: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler calls back into Python, where an exception is printed and dropped; then it misses its result."""

    def command(*words: object, **options: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            if interrupted:
                signal.raise_signal(signal.SIGINT)
        raise SchedulerError("no compiled object yet")

    monkeypatch.setattr(cli, "app", command)
    assert cli.main(["compare"]) == code
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_was_swallowed_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever calls back from C drops what is raised there, and the command would go on."""
    reached = []

    def command(*words: object, **options: object) -> None:
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
        reached.append("behind the callback")
        time.sleep(60.0)
        reached.append("the end")

    monkeypatch.setattr(cli, "app", command)
    hook = sys.unraisablehook
    assert cli.main(["compare"]) == cli.INTERRUPTED
    assert reached == ["behind the callback"]
    assert sys.unraisablehook is hook
