"""What every pool of lanes must do, built in or yours: ``check_lanes(make)`` runs it all."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Job, LaneChange, Lanes, Place, Report, Work, WorkResult

PATIENCE = 120.0
"""Seconds that nothing here takes, however busy the machine is."""
LIMIT = 0.3
"""Of a job that never ends by itself."""
WORDS = "this is what the work said"


@dataclass(frozen=True, slots=True)
class Probe(Work):
    """Work that does one thing in a lane.

    Attributes:
        action: `answer` (with its place and share), `raise`, `memory` (there is too little), `exit` (the process), or
            `hang`.
        cargo: Travels to the lane and, with the answer, back.
    """

    action: str = "answer"
    cargo: Any = None

    @property
    def divisible(self) -> bool:
        """A share of it is said to be one."""
        return True

    def runs_on(self, kind: str) -> bool:
        """Everywhere."""
        return True

    def prepare(self, place: Place, begin: float, share: float) -> None:
        """Note that it was called with this."""
        _PREPARED[:] = [(place, begin, share)]

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Do it."""
        if self.action == "raise":
            raise LookupError(WORDS)
        if self.action == "memory":
            raise MemoryError(WORDS)
        if self.action == "exit":
            os._exit(3)
        if self.action == "hang":
            while True:
                time.sleep(PATIENCE)
        prepared = (place, begin, share) in _PREPARED
        return WorkResult((place, begin, share, prepared, self.cargo), transfer=0.5, memory_mb=3.0)


_PREPARED: list[tuple[Place, float, float]] = []
"""What `Probe.prepare` was called with last, in this process."""


def check_reports(lanes: Lanes) -> None:
    """A job that ends well is reported once, with what it gave back, by the clock of the lanes; joules or nothing."""
    for lane, device in enumerate(lanes.cluster.devices):
        before = lanes.clock()
        report = _run(lanes, lane, Probe(cargo={"some": [1, 2.5, "things"]}), number=40 + lane, begin=0.25, share=0.5)
        after = lanes.clock()
        assert (report.number, report.lane) == (40 + lane, lane), f"the report is of another job or lane: {report}"
        assert report.ending is Ending.DONE, f"a work that ends well is reported as {report.ending}: {report.error!r}"
        assert report.error is None, f"a work that ends well has the error {report.error!r}"
        assert before <= report.start <= report.end <= after, (
            f"a job ran from {report.start} to {report.end}, but was sent after {before} and there by {after}"
        )
        place, begin, share, prepared, cargo = report.result.value
        assert (place.device, place.kind) == (device.name, device.kind), f"lane {lane} works as {place}"
        assert (begin, share) == (0.25, 0.5), f"the work was asked for {share} from {begin}, not for 0.5 from 0.25"
        assert prepared, "the work was run without being prepared for the same place and share, in the same process"
        assert cargo == {"some": [1, 2.5, "things"]}, f"what travelled came back as {cargo}"
        assert (report.result.transfer, report.result.memory_mb) == (0.5, 3.0), f"measured figures: {report.result}"
        assert math.isnan(report.joules) or report.joules >= 0, f"a job took {report.joules} J"
    assert not _reports(lanes.wait(0.0)), "a job is reported twice"


def check_errors(lanes: Lanes) -> None:
    """A work that raises ends as `RAISED` with the lane's traceback, or as `TOO_LARGE`; the lane is well."""
    report = _run(lanes, 0, Probe("raise"))
    assert report.ending is Ending.RAISED, f"a work that raises is reported as {report.ending}"
    assert isinstance(report.error, LookupError), f"LookupError arrives as {report.error!r}"
    assert WORDS in str(report.error), f"what the error says arrives as {report.error}"
    assert "in run" in str(report.error.__cause__), "the error's cause is not the traceback of the lane"
    assert report.start <= report.end, f"it ran from {report.start} to {report.end}"
    report = _run(lanes, 0, Probe("memory"))
    assert report.ending is Ending.TOO_LARGE, f"too little memory is reported as {report.ending}"
    _check_well(lanes, 0)


def check_what_cannot_travel(lanes: Lanes) -> None:
    """Work that cannot be pickled ends as `RAISED`; the lane is well."""
    report = _run(lanes, 0, Probe(cargo=threading.Lock()))
    assert report.ending is Ending.RAISED, f"a work that cannot be pickled is reported as {report.ending}"
    assert report.error is not None, "nothing says why a work could not be sent"
    _check_well(lanes, 0)


def check_limits(lanes: Lanes) -> None:
    """A job that runs past its limit is reported as `HUNG`; its lane goes and comes back."""
    lanes.send(0, Job(51, Probe("hang"), limit=LIMIT))
    report = _check_replaced(lanes, 0, Ending.HUNG)
    assert report.end - report.start >= LIMIT, f"a job with a limit of {LIMIT} s hung after {report.end - report.start}"


def check_losses(lanes: Lanes) -> None:
    """A lane that is lost is reported with its job, as `DIED`, and comes back."""
    lanes.send(0, Job(52, Probe("exit")))
    _check_replaced(lanes, 0, Ending.DIED)


def check_cancelling(lanes: Lanes) -> None:
    """A job that is cancelled is reported as such; its lane goes and comes back. The others go on."""
    last = len(lanes.cluster.devices) - 1
    lanes.send(last, Job(53, Probe("hang")))
    lanes.cancel(last)
    _check_replaced(lanes, last, Ending.CANCELLED)


def check_waking(lanes: Lanes) -> None:
    """`wait` returns when it is woken from another thread, and when its time is over."""
    begun = time.monotonic()
    waker = threading.Timer(0.05, lanes.wake)
    waker.start()
    events = lanes.wait(PATIENCE)
    waker.join()
    assert time.monotonic() - begun < PATIENCE / 2, "wake does not end wait"
    assert not events, f"nothing happened, but wait gives {events}"
    assert not lanes.wait(0.01), "nothing happened, but wait gives something"


LANE_CHECKS: tuple[Callable[[Lanes], None], ...] = (
    check_reports,
    check_errors,
    check_what_cannot_travel,
    check_limits,
    check_losses,
    check_cancelling,
    check_waking,
)
"""All checks of lanes that are up; each takes the lanes, leaves them up and idle, and raises AssertionError."""


def check_lanes(make: Callable[[], Lanes]) -> None:
    """Run every check on one pool, and close it, twice.

    Args:
        make: Gives a pool that nobody has waited for yet.

    Raises:
        AssertionError: The pool breaks the contract; the message says how.
    """
    lanes = make()
    try:
        count = len(lanes.cluster.devices)
        assert len(lanes.hardware) == count, f"{count} lanes have {len(lanes.hardware)} words for their hardware"
        events = _until(lanes, lambda events: len(_ups(events)) >= count)
        assert sorted(_ups(events)) == list(range(count)), f"lanes come up once each, not as in {events}"
        for check in LANE_CHECKS:
            check(lanes)
        lanes.send(0, Job(60, Probe("hang")))
    finally:
        lanes.close()
    lanes.close()


def _run(lanes: Lanes, lane: int, work: Work, *, number: int = 50, begin: float = 0.0, share: float = 1.0) -> Report:
    lanes.send(lane, Job(number, work, begin, share))
    events = _until(lanes, lambda events: bool(_reports(events)))
    assert len(events) == 1, f"one job was sent, and this happened: {events}"
    return _reports(events)[0]


def _check_well(lanes: Lanes, lane: int) -> None:
    ending = _run(lanes, lane, Probe()).ending
    assert ending is Ending.DONE, f"the next job on the lane ends as {ending}"


def _check_replaced(lanes: Lanes, lane: int, ending: Ending) -> Report:
    events = _until(lanes, lambda events: bool(_ups(events)))
    reports, changes = _reports(events), [event for event in events if isinstance(event, LaneChange)]
    assert [report.ending for report in reports] == [ending], f"expected one report of {ending.name}: {events}"
    assert reports[0].error is not None, f"nothing says why a job ended as {ending.name}"
    assert reports[0].start <= reports[0].end, f"it ran from {reports[0].start} to {reports[0].end}"
    assert changes == [LaneChange(lane, up=False), LaneChange(lane, up=True)], f"the lane should go and come: {changes}"
    for each in range(len(lanes.cluster.devices)):
        _check_well(lanes, each)
    return reports[0]


def _until(lanes: Lanes, enough: Callable[[list[Event]], bool]) -> list[Event]:
    """Everything that happens until it is enough."""
    events: list[Event] = []
    end = time.monotonic() + PATIENCE
    while not enough(events):
        assert time.monotonic() < end, f"after {PATIENCE:.0f} s nothing but this has happened: {events}"
        events += lanes.wait(1.0)
    return events


def _reports(events: list[Event]) -> list[Report]:
    return [event for event in events if isinstance(event, Report)]


def _ups(events: list[Event]) -> list[int]:
    return [event.lane for event in events if isinstance(event, LaneChange) and event.up]
