"""What runs on the machines of a Ray cluster: the actor of a lane, and the questions every machine is asked first.

A job is served as by a worker process (`nodes.worker`); Ray is only the way there and back. Loads Ray.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Event
from time import monotonic
from typing import Any, cast

import numpy as np
import ray

from hybrid_scheduler.hardware.machine import cpu_model, usable_cores
from hybrid_scheduler.hardware.nodes.channel import Channel
from hybrid_scheduler.hardware.nodes.machine import bindable_cores, divide, find_accelerators
from hybrid_scheduler.hardware.nodes.power import JobMeter, RaplMeter
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.hardware.nodes.worker import BEGINS, serve
from hybrid_scheduler.hardware.ray_cluster import refuse_other_sources, this_machine

THREADS_OF_THIS_PROCESS = Path("/proc/self/task")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a machine answers.

    Attributes:
        slots: Its lanes, named as if it were alone.
        cpu: What its CPU calls itself.
    """

    slots: tuple[Slot, ...]
    cpu: str


def look_around(sender: tuple[str, str], cpu_lanes: int | None, processors: int, gpus: int) -> Found:
    """The lanes of this machine, of those processors and GPUs that Ray has.

    Raises:
        InvalidInputError: There are fewer cores than lanes asked for, or it has other sources than who asks.
    """
    refuse_other_sources(sender)
    cores, count = bindable_cores(), usable_cores()
    if processors < count:  # which of them nobody knows
        cores, count = [], processors
    accelerators = [each for each in find_accelerators() if each.kind is not None][:gpus]
    return Found(divide(cpu_lanes, accelerators, cores, count, rapl=RaplMeter.find()), cpu_model())


def made(megabytes: int) -> Any:
    """So much data, on the machine where this runs."""
    return np.zeros(megabytes * MEGABYTE, dtype=np.uint8)


def fetched(objects: Sequence[Any]) -> float:
    """Seconds a megabyte of the last of these objects takes from its machine to this one; the others come first."""
    *first, last = objects
    for each in first:
        ray.get(each)
    began = monotonic()
    data = ray.get(last)
    return (monotonic() - began) / (len(data) / MEGABYTE)


GROUPS = {"hold": 1, "begun": 1}
"""Threads of a lane's actor beside the one that works."""


class LaneActor:
    """One lane.

    Args:
        setup: Its `Slot`, pickled.
        warm_up: What it runs before it is ready, pickled; a pickled None for none.
        paths: Where it imports from besides; what is not there on this machine is of no use.
    """

    def __init__(self, setup: bytes, warm_up: bytes, paths: Sequence[str]) -> None:
        self._setup, self._warm_up = setup, warm_up
        sys.path += [path for path in paths if path not in sys.path]
        self._news = Condition()
        self._begun = 0
        self._jobs = 0

    def ready(self) -> str:
        """Get ready to work, in the thread that does; on which machine this is."""
        slot: Slot = pickle.loads(self._setup)
        os.environ.update(slot.variables)
        if slot.cores:
            bind_threads(slot.cores)
        self._place, self._meter = slot.place, JobMeter(slot.meter)
        first = pickle.loads(self._warm_up)
        if first is not None:
            first.prepare(self._place, 0.0, 1.0)
            first.run(self._place, 0.0, 1.0)
        return this_machine()

    def clock(self) -> float:
        """The time by the clock of this machine."""
        return monotonic()

    def run(self, message: bytes) -> tuple[bytes, bool]:
        """Run a job; what a worker would say of it, and whether this process can take another."""
        self._jobs += 1
        answer = _Answer(self._note_begun)
        well = serve(cast(Channel, answer), message, self._place, self._meter)
        self._note_begun()
        return answer.message, well

    @ray.method(concurrency_group="begun")
    def begun(self, jobs: int) -> None:
        """Wait until so many jobs have begun, which is when they were prepared."""
        with self._news:
            self._news.wait_for(lambda: self._begun >= jobs)

    @ray.method(concurrency_group="hold")
    def hold(self) -> None:
        """Never return: whoever waits for this hears when the process ends."""
        Event().wait()

    def _note_begun(self) -> None:
        with self._news:
            self._begun = self._jobs
            self._news.notify_all()


class _Answer:
    """Stands for the socket of a worker: takes what is said of one job."""

    def __init__(self, begun: Any) -> None:
        self._begun = begun
        self.message = b""

    def send(self, message: bytes) -> None:
        """Keep it; that a job begins is noted at once."""
        if message == BEGINS:
            self._begun()
        else:
            self.message = message


def bind_threads(cores: Sequence[int]) -> None:
    """Bind every thread of this process to cores; threads that are started later inherit it."""
    if sys.platform == "linux":
        for thread in THREADS_OF_THIS_PROCESS.iterdir():
            os.sched_setaffinity(int(thread.name), cores)
