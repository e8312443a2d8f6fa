"""Schedulers by name: unknown names and parameters, what is registered wrongly, seeds."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.registered import registered
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.random import Random
from hybrid_scheduler.schedulers.registry import GROUP, create_scheduler, scheduler_class, scheduler_names

BUILT_IN = {"round_robin", "random", "greedy", "cpu_only", "gpu_only", "mct", "oracle"}


def test_built_in_names() -> None:
    assert set(scheduler_names()) >= BUILT_IN
    assert scheduler_names() == sorted(scheduler_names())


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_classes_and_summaries(name: str) -> None:
    found = scheduler_class(name)
    assert issubclass(found, Scheduler)
    assert len(found.summary()) > 20
    assert isinstance(create_scheduler(name), found)


@pytest.mark.parametrize(("wrong", "right"), [("orcale", "oracle"), ("roundrobin", "round_robin"), ("mctt", "mct")])
def test_unknown_name_offers_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown scheduler '{wrong}': did you mean '{right}'") as caught:
        create_scheduler(wrong)
    assert caught.value.nearest == right
    assert isinstance(caught.value, InvalidInputError)


def test_name_like_nothing_lists_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown scheduler 'zzzzzz': known: .*cpu_only, .*oracle") as caught:
        scheduler_class("zzzzzz")
    assert caught.value.nearest is None


def test_unknown_parameter_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown parameter of scheduler 'random': 'sed': did you mean 'seed'"):
        create_scheduler("random", sed=3)
    with pytest.raises(UnknownNameError, match="unknown parameter of scheduler 'mct': 'weight'"):
        create_scheduler("mct", weight=0.5)


def test_seed_reaches_those_who_have_one() -> None:
    made = create_scheduler("random", 7)
    assert isinstance(made, Random)
    assert made.seed == 7
    assert create_scheduler("greedy", 7).parameters() == {}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "no_such_module_anywhere:Thing",
            r"scheduler 'mine' \(no_such_module_anywhere:Thing\) cannot be loaded: No mod",
        ),
        ("json:NoSuchName", r"scheduler 'mine' \(json:NoSuchName\) cannot be loaded: .*NoSuchName"),
        ("json:JSONDecoder", r"scheduler 'mine' \(json:JSONDecoder\) is not a subclass of Scheduler"),
        ("json:dumps", r"scheduler 'mine' \(json:dumps\) is not a subclass of Scheduler"),
    ],
)
def test_wrong_registrations(monkeypatch: pytest.MonkeyPatch, target: str, message: str) -> None:
    monkeypatch.setitem(registered(GROUP), "mine", EntryPoint("mine", target, GROUP))
    with pytest.raises(InvalidInputError, match=message):
        create_scheduler("mine")
