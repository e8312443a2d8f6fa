"""Scripts without a `__main__` guard, in an empty folder, as people write them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import hybrid_scheduler as hs

FACTOR = 3

class Box:
    def __init__(self, value):
        self.value = value

def times(box):
    return Box(FACTOR * box.value)

def fails():
    raise LookupError("on purpose")

executor = hs.Executor(lanes=2, remember=False)
if {closes}:
    with executor:
        box = executor.submit(times, Box(14)).result()
        assert type(box) is Box
        error = executor.submit(fails).exception()
        print(box.value, list(executor.map(lambda a: a + FACTOR, range(3))), "LookupError" in str(error.__cause__))
else:
    executor.submit(times, Box(14)).add_done_callback(lambda future: print(future.result().value, flush=True))
"""


def run(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    folder = tmp_path / "empty"
    folder.mkdir()
    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=300)
    assert list(folder.iterdir()) == []
    return done


@pytest.mark.slow
def test_a_script_without_a_guard(tmp_path: Path) -> None:
    done = run(tmp_path, SCRIPT.format(closes=True))
    assert (done.stdout, done.stderr) == ("42 [3, 4, 5] True\n", "")


@pytest.mark.slow
def test_a_script_that_does_not_shut_down_ends_when_its_calls_have(tmp_path: Path) -> None:
    done = run(tmp_path, SCRIPT.format(closes=False))
    assert (done.stdout, done.stderr, done.returncode) == ("42\n", "", 0)


INTERRUPTED = """
import os, time
import hybrid_scheduler as hs

def nap(path):
    open(path + ".new", "w").write(str(os.getpid()))
    os.rename(path + ".new", path)
    time.sleep(1000)

with hs.Executor(lanes=2, remember=False) as executor:
    for number in range(4):
        executor.submit(nap, {path!r} + str(number))
"""


@pytest.mark.slow
def test_an_interrupt_while_a_with_waits_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.format(path=str(tmp_path / "pid")))
    process = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
    try:
        paths = [tmp_path / "pid0", tmp_path / "pid1"]
        until = time.monotonic() + 120.0
        while not all(path.exists() for path in paths) and time.monotonic() < until:
            time.sleep(0.01)
        pids = [int(path.read_text()) for path in paths]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120.0)
    finally:
        process.kill()  # its workers end with it
        process.wait()
    assert errors.strip().endswith("KeyboardInterrupt")
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


UNCLOSED = """
import os, signal, time
import hybrid_scheduler as hs

def nap(path):
    open(path + ".new", "w").write(str(os.getpid()))
    os.rename(path + ".new", path)
    time.sleep(1000)

executor = hs.Executor(lanes=1, remember=False)
executor.submit(nap, {path!r})
while not os.path.exists({path!r}):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(1000)
"""


@pytest.mark.slow
def test_an_interrupt_outside_of_a_with_ends_the_script_too(tmp_path: Path) -> None:
    done = run(tmp_path, UNCLOSED.format(path=str(tmp_path / "pid")))
    assert done.stderr.strip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
