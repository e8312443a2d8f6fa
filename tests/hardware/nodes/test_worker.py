"""What a worker says of jobs whose accelerator fails, and how energy is read; with a PyTorch that is made up."""

from __future__ import annotations

import math
import pickle
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from lane_works import Call, fail

from hybrid_scheduler.hardware.nodes import power
from hybrid_scheduler.hardware.nodes.channel import Channel
from hybrid_scheduler.hardware.nodes.lanes import Place
from hybrid_scheduler.hardware.nodes.pickling import dumps
from hybrid_scheduler.hardware.nodes.power import JobMeter, Meter
from hybrid_scheduler.hardware.nodes.worker import DONE, RAISED, TOO_LARGE, serve

GPU = Place("gpu_0", "gpu", "cuda")


class OutOfMemoryError(RuntimeError):
    """As PyTorch's is."""


@dataclass
class MadeUpCuda:
    """Works until it is broken."""

    broken: bool = False
    calls: list[str] = field(default_factory=list)
    OutOfMemoryError: type[RuntimeError] = OutOfMemoryError

    def is_initialized(self) -> bool:
        return True

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> MadeUpCuda:
    made = MadeUpCuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=made))
    return made


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    pool, worker = socket.socketpair()
    channels = Channel(pool, waits=True), Channel(worker, waits=True)
    yield channels
    for channel in channels:
        channel.close()


def served(
    ends: tuple[Channel, Channel], work: Call, place: Place = GPU, meter: Meter | None = None
) -> tuple[bool, Any]:
    """Whether the worker can go on, and what it said."""
    pool, worker = ends
    goes_on = serve(worker, dumps((work, 0.0, 1.0, False)), place, JobMeter(meter))
    (message,) = pool.receive()
    return goes_on, pickle.loads(message)


def test_too_little_memory_is_told_and_given_back(cuda: MadeUpCuda, ends: tuple[Channel, Channel]) -> None:
    goes_on, (code, *_) = served(ends, Call(fail, (OutOfMemoryError("CUDA out of memory"),)))
    assert (goes_on, code) == (True, TOO_LARGE)
    assert cuda.calls == ["empty_cache"]


@pytest.mark.parametrize(
    ("said", "code"),
    [("MPS backend out of memory (MPS allocated: 1 GB)", TOO_LARGE), ("mat1 and mat2 cannot be multiplied", RAISED)],
)
def test_what_has_no_class_is_known_by_its_words(ends: tuple[Channel, Channel], said: str, code: int) -> None:
    goes_on, (got, *_) = served(ends, Call(fail, (RuntimeError(said),)), Place("gpu_0", "gpu", "mps"))
    assert (goes_on, got) == (True, code)


def test_an_error_that_stays_ends_the_worker(cuda: MadeUpCuda, ends: tuple[Channel, Channel]) -> None:
    cuda.broken = True
    goes_on, (code, *_) = served(ends, Call(fail, (RuntimeError("CUDA error: an illegal memory access"),)))
    assert (goes_on, code) == (False, RAISED)
    assert served(ends, Call(abs, (-2,)))[0], "a job that ends well says nothing of the device"


class StepMeter(Meter):
    """Three joules a reading, and after so many readings none."""

    def __init__(self, readings: int) -> None:
        self.left = readings
        self.joules = 0.0

    def read(self) -> tuple[float, ...]:
        if not self.left:
            raise OSError("it has gone")
        self.left -= 1
        self.joules += 3.0
        return (self.joules,)


@pytest.mark.parametrize(("readings", "joules"), [(2, 3.0), (1, math.nan), (0, math.nan)])
def test_energy_is_read_before_and_after(ends: tuple[Channel, Channel], readings: int, joules: float) -> None:
    _, (code, start, end, got, value, *_) = served(ends, Call(abs, (-2,)), meter=StepMeter(readings))
    assert (code, value) == (DONE, 2)
    assert start <= end
    assert got == pytest.approx(joules, nan_ok=True)


class SlowMeter(Meter):
    """One whose counter tells nothing of short jobs: ten joules a second, until it has gone."""

    shortest = 0.2

    def __init__(self) -> None:
        self.readings = 0
        self.read_at = 0.0
        self.gone = False

    def read(self) -> tuple[float, ...]:
        if self.gone:
            raise OSError("it has gone")
        self.readings += 1
        self.read_at = time.monotonic()
        return (10.0 * self.read_at,)


def test_a_slow_counter_is_read_for_long_jobs_only() -> None:
    counter = SlowMeter()
    meter = JobMeter(counter)

    def joules(until: Callable[[float], bool]) -> float:
        """Of a job that goes on until then, a second."""
        meter.begin()
        began = time.monotonic()
        while not until(time.monotonic() - began):
            time.sleep(0.001)
        got = meter.end()
        return got / (time.monotonic() - began)

    def is_read(times: int, seconds: float) -> bool:
        return seconds > 0.2 and counter.readings >= times and time.monotonic() - counter.read_at > 0.12

    assert [math.isnan(joules(lambda seconds: True)) for _ in range(50)] == [True] * 50
    assert counter.readings == 0, "nobody waits for it while jobs are short"
    for readings in (2, 4):
        rate = joules(partial(is_read, readings - 1))
        assert rate == pytest.approx(10.0, rel=0.2), "what was before the first reading counts as the rest"
        assert counter.readings == readings
    assert math.isnan(meter.end()), "it was told already"
    counter.gone = True
    assert math.isnan(joules(lambda seconds: seconds > 0.3))


@pytest.mark.parametrize(("apart", "told"), [(0.09, False), (0.11, True)])
def test_readings_at_nearly_the_same_time_say_nothing(
    apart: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a job that let no other thread run before its end."""
    readings = iter([(0.0, (1.0,)), (apart, (2.0,))])
    monkeypatch.setattr(power, "_read", lambda meter, job: power._Reading(job, *next(readings)))
    meter = JobMeter(SlowMeter())
    meter.begin()
    while meter._first is None:
        time.sleep(0.01)
    time.sleep(SlowMeter.shortest)
    assert math.isnan(meter.end()) is not told


SHORT = [b"", b"x", b"yz" * 10, b"", b"end"]
LONG = [b"", b"x" * 70_000, b"y", b"z" * 200_000, b"end"]


@pytest.mark.parametrize(
    ("messages", "step"), [(SHORT, 1), (SHORT, 7), (SHORT, 1000), (LONG, 999), (LONG, 65_543), (LONG, 10**6)]
)
def test_messages_come_whole_however_they_are_cut(messages: list[bytes], step: int) -> None:
    ours, theirs = socket.socketpair()
    receiving = Channel(theirs, waits=False)
    ours.setblocking(False)
    stream = b"".join(len(each).to_bytes(8, "little") + each for each in messages)
    got: list[bytes | bytearray] = []
    while stream:
        stream = stream[ours.send(stream[:step]) :]
        while come := receiving.receive():
            got += come
    assert got == messages
    ours.close()
    assert receiving.receive() == []
    assert receiving.ended
    receiving.close()


def test_what_the_socket_does_not_take_is_kept() -> None:
    sending, receiving = (Channel(end, waits=False) for end in socket.socketpair())
    for message in LONG:
        sending.send(message * 20)
    kept = [sending.unsent]
    got: list[bytes | bytearray] = []
    while len(got) < len(LONG):
        sending.flush()
        got += receiving.receive()
    kept.append(sending.unsent)
    assert kept == [True, False]
    assert got == [message * 20 for message in LONG]
    receiving.close()
    with pytest.raises(OSError, match="pipe"):
        sending.send(b"nobody hears this")
    sending.close()
