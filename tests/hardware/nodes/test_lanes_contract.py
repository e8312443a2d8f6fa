"""The lanes of this machine satisfy the contract of lanes, and lanes that do not are found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Report
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.testing import lanes as suite
from hybrid_scheduler.testing.lanes import LANE_CHECKS, check_lanes


def pool() -> ProcessLanes:
    return ProcessLanes([Slot(Device("cpu_0", "cpu")), Slot(Device("cpu_1", "cpu"))])


def test_processes_satisfy_the_contract() -> None:
    check_lanes(pool)


def test_they_do_so_too_where_the_system_does_not_say_that_a_process_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.pidfd_open", raising=False)
    check_lanes(pool)


class Bent(ProcessLanes):
    """Processes whose reports are bent, from the first on that is bent at all."""

    def __init__(self, bend: Callable[[Event], list[Event]]) -> None:
        super().__init__([Slot(Device("cpu_0", "cpu"))])
        self._bend = bend

    def wait(self, seconds: float) -> list[Event]:
        return [bent for event in super().wait(seconds) for bent in self._bend(event)]


def changed(those: Ending, /, **figures: Any) -> Callable[[Event], list[Event]]:
    """Reports of this ending are changed like this."""

    def bend(event: Event) -> list[Event]:
        bent = isinstance(event, Report) and event.ending is those
        return [replace(event, **figures) if bent else event]

    return bend


def twice(event: Event) -> list[Event]:
    return [event, event] if isinstance(event, Report) else [event]


def never_back(event: Event) -> list[Event]:
    return [event] if isinstance(event, Report) else [replace(event, up=True)]


BENT: dict[str, tuple[Callable[[Event], list[Event]], str]] = {
    "another number": (changed(Ending.DONE, number=3), "of another job or lane"),
    "late": (changed(Ending.DONE, end=1e12), "but was sent after"),
    "negative energy": (changed(Ending.DONE, joules=-1.0), "took -1.0 J"),
    "twice": (twice, "one job was sent, and this happened"),
    "no error": (changed(Ending.RAISED, error=None), "LookupError arrives as None"),
    "no traceback": (changed(Ending.RAISED, error=LookupError(suite.WORDS)), "not the traceback"),
    "memory": (changed(Ending.TOO_LARGE, ending=Ending.RAISED), "too little memory is reported as"),
    "hung": (changed(Ending.HUNG, ending=Ending.DIED), "expected one report of HUNG"),
    "died": (changed(Ending.DIED, ending=Ending.HUNG), "expected one report of DIED"),
    "cancelled": (changed(Ending.CANCELLED, error=None), "nothing says why a job ended as CANCELLED"),
    "never down": (never_back, "the lane should go and come"),
}


@pytest.mark.parametrize(("bend", "said"), BENT.values(), ids=BENT)
def test_lanes_that_break_it_are_found_out(bend: Callable[[Event], list[Event]], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_lanes(lambda: Bent(bend))


def test_lanes_that_sleep_on_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "PATIENCE", 0.3)
    lanes = pool()
    try:
        events: list[Event] = []
        while len(events) < 2:
            events += lanes.wait(60.0)
        lanes.wake = lambda: None  # type: ignore[method-assign]
        with pytest.raises(AssertionError, match="wake does not end wait"):
            suite.check_waking(lanes)
    finally:
        lanes.close()


def test_every_check_is_in_the_suite() -> None:
    assert set(LANE_CHECKS) == {
        value for name, value in vars(suite).items() if name.startswith("check_") and value is not check_lanes
    }
