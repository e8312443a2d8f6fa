"""Worker processes of this machine: what runs there, what is lost there, and what is left."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from lane_works import Call, Where, exit_with, fail, fail_fussily, forever, surroundings

from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Job, LaneChange, LaneError, Place, Report
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.slot import THREADS, Slot
from hybrid_scheduler.hardware.nodes.worker_lanes import FRUITLESS_STARTS
from hybrid_scheduler.physics.device import Device

LONG = 120.0
"""Seconds that nothing here takes, however busy the machine is."""


def slots(count: int = 2, **figures: Any) -> list[Slot]:
    return [Slot(Device(f"cpu_{number}", "cpu"), **figures) for number in range(count)]


def until(lanes: ProcessLanes, enough: Callable[[list[Event]], bool]) -> list[Event]:
    """Everything that happens until it is enough."""
    events: list[Event] = []
    end = time.monotonic() + LONG
    while not enough(events):
        assert time.monotonic() < end, events
        events += lanes.wait(1.0)
    return events


def reports(events: list[Event]) -> list[Report]:
    return [event for event in events if isinstance(event, Report)]


def ups(events: list[Event]) -> list[int]:
    return [event.lane for event in events if isinstance(event, LaneChange) and event.up]


def ready(lanes: ProcessLanes) -> ProcessLanes:
    until(lanes, lambda events: len(ups(events)) == len(lanes.slots))
    return lanes


def report(lanes: ProcessLanes) -> Report:
    return reports(until(lanes, lambda events: bool(reports(events))))[0]


def run(lanes: ProcessLanes, work: Call | Where, lane: int = 0, **options: Any) -> Report:
    lanes.send(lane, Job(7, work, **options))
    return report(lanes)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessLanes]:
    """Two lanes for jobs that leave them well."""
    lanes = ready(ProcessLanes(slots()))
    yield lanes
    lanes.close()


def test_a_job_runs_and_is_reported(pool: ProcessLanes) -> None:
    before = pool.clock()
    got = run(pool, Where(), 1, begin=0.25, share=0.5)
    assert (got.number, got.lane, got.ending, got.error) == (7, 1, Ending.DONE, None)
    assert got.result.value == (Place("cpu_1", "cpu"), 0.25, 0.5, pool.pids[1])
    assert (got.result.transfer, got.result.memory_mb) == (0.25, 7.0)
    assert before <= got.start <= got.end <= pool.clock()
    assert math.isnan(got.joules)


def test_what_prepares_a_job_is_not_on_its_clock(pool: ProcessLanes) -> None:
    sent = pool.clock()
    got = run(pool, Call(abs, (-3,), prepared=nap), limit=LONG)
    assert got.result.value == 3
    assert got.start - sent >= NAP
    assert got.ending is Ending.DONE


NAP = 0.05


def nap() -> None:
    time.sleep(NAP)


def test_large_things_travel_both_ways(pool: ProcessLanes) -> None:
    data = os.urandom(5_000_000)
    assert run(pool, Call(bytes.__add__, (data, b"end"))).result.value == data + b"end"


def test_lambdas_and_closures(pool: ProcessLanes) -> None:
    three = 3
    assert run(pool, Call(lambda x: x * three, (5,))).result.value == 15


def test_an_error_comes_with_its_traceback(pool: ProcessLanes) -> None:
    got = run(pool, Call(fail, (KeyError("which"),)))
    assert got.ending is Ending.RAISED
    assert isinstance(got.error, KeyError)
    assert got.error.args == ("which",)
    assert "in fail\n    raise error" in str(got.error.__cause__)
    assert run(pool, Where()).ending is Ending.DONE


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_error_that_would_end_a_process_does_not_end_a_lane(pool: ProcessLanes, error: BaseException) -> None:
    before = pool.pids
    got = run(pool, Call(fail, (error,)))
    assert (got.ending, type(got.error)) == (Ending.RAISED, type(error))
    assert pool.pids == before


def test_an_error_that_cannot_be_read_again_keeps_its_words(pool: ProcessLanes) -> None:
    got = run(pool, Call(fail_fussily))
    assert isinstance(got.error, RuntimeError)
    assert str(got.error) == "FussyError: noway"
    assert "in fail_fussily" in str(got.error.__cause__)


def test_memory_that_is_too_small_is_told_apart(pool: ProcessLanes) -> None:
    assert run(pool, Call(fail, (MemoryError("12 EB"),))).ending is Ending.TOO_LARGE


def generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("made", [threading.Lock, generator])
def test_what_cannot_be_pickled_harms_no_lane(pool: ProcessLanes, made: Callable[[], Any]) -> None:
    got = run(pool, Call(id, (made(),)))
    assert got.ending is Ending.RAISED
    assert isinstance(got.error, TypeError)
    assert run(pool, Where()).ending is Ending.DONE


def test_a_result_that_cannot_be_pickled(pool: ProcessLanes) -> None:
    got = run(pool, Call(threading.Lock))
    assert got.ending is Ending.RAISED
    assert "pickle" in str(got.error)


def test_a_lane_takes_one_job_at_a_time(pool: ProcessLanes, tmp_path: Path) -> None:
    pool.send(0, Job(1, Call(nap)))
    with pytest.raises(LaneError, match="cpu_0 cannot take job 2"):
        pool.send(0, Job(2, Where()))
    assert report(pool).number == 1


def test_waiting_ends_when_somebody_wakes_it(pool: ProcessLanes) -> None:
    threading.Timer(0.05, pool.wake).start()
    assert pool.wait(LONG) == []
    assert pool.wait(0.0) == []


def test_nothing_heavy_is_loaded_for_plain_functions(pool: ProcessLanes) -> None:
    modules = run(pool, Call(surroundings)).result.value["modules"]
    assert not modules & {"torch", "numba", "pandas", "pydantic", "multiprocessing"}


def test_a_lane_has_its_share_of_the_machine(capfd: pytest.CaptureFixture[str]) -> None:
    core = (min(os.sched_getaffinity(0)),) if sys.platform == "linux" else ()
    lanes = ready(ProcessLanes(slots(1, threads=3, cores=core)))
    try:
        got = run(lanes, Call(surroundings)).result.value
        assert got["environment"]["CUDA_VISIBLE_DEVICES"] == ""
        assert [got["environment"][name] for name in THREADS] == ["3"] * len(THREADS)
        assert got["cores"] in (None, set(core))
        run(lanes, Call(print, ("hello",)))
        assert capfd.readouterr().out == ""
    finally:
        lanes.close()


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    lanes = ready(ProcessLanes(slots()))
    try:
        file = tmp_path / "begun"
        lanes.send(0, Job(1, Call(forever, (file,))))
        while not file.exists():
            lanes.wait(0.01)
        before = lanes.pids
        assert before[0] is not None
        os.kill(before[0], signal.SIGKILL)
        events = until(lanes, lambda events: bool(ups(events)))
        died, down, up = events
        assert isinstance(died, Report)
        assert (died.number, died.ending) == (1, Ending.DIED)
        assert "was ended by SIGKILL while it ran job 1" in str(died.error)
        assert (down, up) == (LaneChange(0, up=False), LaneChange(0, up=True))
        assert lanes.pids[0] not in before
        assert lanes.pids[1] == before[1]
        assert run(lanes, Where()).result.value[3] == lanes.pids[0]
    finally:
        lanes.close()


def test_jobs_that_end_their_process_and_that_hang_and_that_are_cancelled(tmp_path: Path) -> None:
    lanes = ready(ProcessLanes(slots()))
    try:
        for _ in range(FRUITLESS_STARTS + 1):  # each of these processes had a job, so none was fruitless
            lanes.send(0, Job(1, Call(exit_with, (5,))))
            died = reports(until(lanes, lambda events: bool(ups(events))))[0]
            assert died.ending is Ending.DIED
            assert "ended with exit code 5" in str(died.error)
        lanes.send(1, Job(2, Call(forever), limit=0.2))
        hung = reports(until(lanes, lambda events: bool(ups(events))))[0]
        assert (hung.number, hung.lane, hung.ending) == (2, 1, Ending.HUNG)
        assert hung.end - hung.start >= 0.2
        file = tmp_path / "begun"
        lanes.send(0, Job(3, Call(forever, (file,))))
        while not file.exists():
            lanes.wait(0.01)
        lanes.cancel(0)
        cancelled = reports(until(lanes, lambda events: bool(ups(events))))[0]
        assert (cancelled.number, cancelled.ending) == (3, Ending.CANCELLED)
        lanes.cancel(0)
        assert [run(lanes, Where(), lane).ending for lane in (0, 1)] == [Ending.DONE] * 2
    finally:
        lanes.close()


def test_a_lane_that_does_not_come_up_stays_down(caplog: pytest.LogCaptureFixture) -> None:
    lanes = ProcessLanes(slots(1), warm_up=Call(exit_with, (9,)))
    try:
        assert until(lanes, bool) == [LaneChange(0, up=False, final=True)]
        assert lanes.wait(0.0) == []
        assert lanes.pids == (None,)
        assert "cpu_0 stays down: 3 processes in a row ended before they had a job" in caplog.text
        assert "exit code 9" in caplog.text
    finally:
        lanes.close()


def test_what_warms_up_has_run_before_a_lane_is_up(tmp_path: Path) -> None:
    lanes = ready(ProcessLanes(slots(1), warm_up=Call((tmp_path / "warm").touch)))
    lanes.close()
    assert (tmp_path / "warm").exists()


def test_nothing_is_left_after_closing() -> None:
    lanes = ready(ProcessLanes(slots()))
    processes = [psutil.Process(pid) for pid in lanes.pids if pid is not None]
    lanes.send(0, Job(1, Call(start_another)))
    other = psutil.Process(report(lanes).result.value)
    lanes.send(1, Job(2, Call(forever)))
    lanes.close()
    lanes.close()
    lanes.wake()
    assert not any(each.is_running() for each in processes)
    gone(other)
    with pytest.raises(LaneError, match="were closed"):
        lanes.wait(0.0)


def start_another() -> int:
    """A process that a job has started and left."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid


def gone(process: psutil.Process) -> None:
    """Waits until a process is gone, or only its parent, whoever that is now, has not noticed yet."""
    end = time.monotonic() + LONG
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_forgotten_lanes_end() -> None:
    lanes = ProcessLanes(slots(1))
    (pid,) = lanes.pids
    assert pid is not None
    process = psutil.Process(pid)
    del lanes
    assert not process.is_running()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(number: int) -> None:
    script = """
        import sys, time
        from hybrid_scheduler.hardware.nodes.lanes import Job
        from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
        from hybrid_scheduler.hardware.nodes.slot import Slot
        from hybrid_scheduler.physics.device import Device
        from lane_works import Call, forever

        lanes = ProcessLanes([Slot(Device("cpu_0", "cpu"))])
        lanes.wait(600)
        lanes.send(0, Job(1, Call(forever)))
        print(*lanes.pids, flush=True)
        lanes.wait(600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(number)
        parent.wait(LONG)
    gone(worker)


def test_a_script_needs_no_guard_and_its_own_classes_travel(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            from dataclasses import dataclass
            from hybrid_scheduler.hardware.nodes.lanes import Job, Report
            from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
            from hybrid_scheduler.hardware.nodes.slot import Slot
            from hybrid_scheduler.physics.device import Device
            from lane_works import Call

            @dataclass
            class Pair:
                a: int
                b: int

            def swap(pair):
                return Pair(pair.b, pair.a)

            lanes = ProcessLanes([Slot(Device("cpu_0", "cpu"))])
            lanes.wait(600)
            lanes.send(0, Job(1, Call(swap, (Pair(1, 2),))))
            print(lanes.wait(600)[0].result.value == Pair(2, 1))
        """)
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    said = subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert (said.stdout, said.stderr) == ("True\n", "")


def test_an_interrupt_while_a_process_starts_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ProcessLanes(slots())
    assert len(started) == 1
    assert not psutil.pid_exists(started[0])
