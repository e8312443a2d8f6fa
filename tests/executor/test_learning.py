"""An executor learns how long calls take, keeps it, and starts the short ones first."""

from __future__ import annotations

import logging
import math
import statistics
import time
from collections import OrderedDict
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from held_lanes import Held

from hybrid_scheduler.config.store import known_times
from hybrid_scheduler.executor.call import Call
from hybrid_scheduler.executor.executor import Executor
from hybrid_scheduler.executor.functions import FunctionLanes, Functions, WarmTimes
from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Job, LaneChange, Lanes, Place, Report, WorkResult
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.physics.device import ClusterSpec, Device


def test_what_was_measured_is_kept_for_the_next_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'times.db'}"
    monkeypatch.setenv("DATABASE_URL", url)
    with Executor(lanes=1) as executor:
        for _ in range(3):
            executor.submit(time.sleep, 0.05, kind="nap", size=1).result()
        hardware = executor._driver._lanes.hardware
    (nap,) = [row for row in known_times(hardware, url) if row.kind == "nap"]
    assert nap.count == 2  # without the first
    assert 0.05 <= math.exp(nap.log_seconds) < 5.0
    with Executor(lanes=1) as executor:
        executor.submit(time.sleep, 0.0, kind="other", size=1).result()
    assert nap in known_times(hardware, url)


def test_a_store_that_cannot_be_used_is_warned_of_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "times.db").mkdir()
    monkeypatch.setenv("DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path / 'times.db'}")
    with caplog.at_level(logging.WARNING, "hybrid_scheduler"), Executor(lanes=1) as executor:
        assert executor.submit(abs, -1).result() == 1
    said = [record.getMessage() for record in caplog.records]
    assert any("are not remembered" in text for text in said)
    assert any("are not kept" in text for text in said)


LONG, SHORT = (4, 0.4), (18, 0.05)
IN_ORDER = (2 * (0.4 + 0.8) + 2 * sum(0.8 + 0.05 * k for k in range(1, 10))) / 22
"""The mean response time that first come, first served has at best on two lanes."""


def mean_response(name: str, folder: Path) -> float:
    """All are there before the first of them can start, however slowly they are submitted."""
    ends: list[float] = []
    with Executor(name, lanes=2, remember=False) as executor:
        for _, seconds in (LONG, SHORT):  # the first call in a process is not measured
            for future in [executor.submit(time.sleep, seconds, kind=f"sleep {seconds}") for _ in range(4)]:
                future.result()
        held = Held(executor, folder, 2)

        def note(future: Future[Any]) -> None:
            ends.append(time.perf_counter())

        for count, seconds in (LONG, SHORT):
            for _ in range(count):
                executor.submit(time.sleep, seconds, kind=f"sleep {seconds}").add_done_callback(note)
        began = time.perf_counter()
        held.release()
    assert len(ends) == 22
    return statistics.mean(ends) - began


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sjf", "hybrid_queue"])
def test_order_pays(name: str, tmp_path: Path) -> None:
    assert mean_response(name, tmp_path) <= 0.6 * IN_ORDER


@pytest.mark.slow
def test_functions_run_on_ray() -> None:
    pytest.importorskip("ray")
    factor = 3
    with Executor(node="ray", lanes=1, remember=False) as executor:
        assert list(executor.map(lambda number: factor * number, range(5))) == [0, 3, 6, 9, 12]
        error = executor.submit(on_cpu).exception()
        assert isinstance(error, TypeError)
        assert "on_cpu" in str(error.__cause__)


class OneLane(Lanes):
    """Runs a job when it is asked what happened, as a process would; forgets functions when told."""

    def __init__(self) -> None:
        self.cluster = ClusterSpec((Device("cpu_0", "cpu"), Device("gpu_0", "gpu")))
        self.sent: list[Job] = []
        self.told: list[Event] = [LaneChange(0, up=True), LaneChange(1, up=True)]
        self._waiting: list[tuple[int, Job]] = []

    def clock(self) -> float:
        return 0.0

    def send(self, lane: int, job: Job) -> None:
        self.sent.append(job)
        self._waiting.append((lane, job))

    def wait(self, seconds: float) -> list[Event]:
        events, self.told = self.told, []
        for lane, job in self._waiting:
            try:
                value = job.work.run(Place("", self.cluster.devices[lane].kind), 0.0, 1.0)
            except Exception as error:  # noqa: BLE001 (as a lane does)
                events.append(Report(job.number, lane, Ending.RAISED, 0.0, 1.0, error=error))
            else:
                events.append(Report(job.number, lane, Ending.DONE, 0.0, 1.0, WorkResult(value.value)))
        self._waiting.clear()
        return events

    def cancel(self, lane: int) -> None:
        raise NotImplementedError

    def wake(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def on_cpu(number: int) -> str:
    return f"cpu {number}"


def on_gpu(number: int) -> str:
    return f"gpu {number}"


def values(lanes: FunctionLanes) -> list[Any]:
    return [event.result.value for event in lanes.wait(0.0) if isinstance(event, Report)]


def test_each_device_runs_its_form_and_gets_a_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, functions = OneLane(), Functions()
    lanes, known = FunctionLanes(inner), OrderedDict[bytes, Any]()
    monkeypatch.setattr("hybrid_scheduler.executor.call._known", known)
    lanes.wait(0.0)
    code, gpu = functions.code(on_cpu), functions.code(on_gpu)
    assert functions.code(on_cpu) is code
    for number in range(3):
        call = Call(code, gpu, (number,))
        lanes.send(0, Job(2 * number, call))
        lanes.send(1, Job(2 * number + 1, call))
        assert values(lanes) == [f"cpu {number}", f"gpu {number}"]
    assert [bool(job.work.code.pickled) for job in inner.sent] == [True, True, False, False, False, False]  # type: ignore[attr-defined]
    known.clear()  # the process was replaced without anybody knowing, or has heard of too many others
    lanes.send(0, Job(9, Call(code, gpu, (9,))))
    assert values(lanes) == []
    assert values(lanes) == ["cpu 9"]


def test_a_call_without_a_form_for_accelerators_stays_on_cpus() -> None:
    functions = Functions()
    assert not Call(functions.code(on_cpu), None, ()).runs_on("gpu")
    assert Call(functions.code(on_cpu), functions.code(on_gpu), ()).runs_on("gpu")


def test_the_first_call_of_a_function_in_a_lane_teaches_nothing() -> None:
    lanes = FunctionLanes(OneLane())
    times, call = WarmTimes(lanes), Call(Functions().code(on_cpu), None, (1,))
    lanes.wait(0.0)
    task = Task(1, 10.0, 0.5, 1.0, kind="k")
    for expected in ([True, True], [False, True]):
        lanes.send(0, Job(1, call))
        lanes.wait(0.0)
        times.learn(task, 0, 2.0)
        assert [math.isnan(seconds) for seconds in times.of(task)[1]] == expected
