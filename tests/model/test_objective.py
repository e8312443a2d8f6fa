"""What counts: how weights are read, scaled and refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.objective import ARGUMENTS, BALANCED, GOALS, Objective, overridden

WEIGHT = st.floats(0.0, 1e6)


@given(time=WEIGHT, energy=WEIGHT, money=WEIGHT)
@example(time=5e-324, energy=5e-324, money=0.0)
@example(time=1e6, energy=5e-324, money=0.0)
def test_weights_are_scaled_to_one_and_keep_their_ratios(time: float, energy: float, money: float) -> None:
    given = {"time": time, "energy": energy, "money": money}
    if not any(given.values()):
        with pytest.raises(InvalidInputError, match="at least one must be above 0"):
            Objective.of(given)
        return
    found = Objective.of(given)
    assert sum(found.to_json().values()) == pytest.approx(1.0, abs=1e-12)
    largest = max(given, key=lambda goal: given[goal])
    for goal in GOALS:
        share = getattr(found, goal)
        assert 0.0 <= share <= 1.0
        assert share == pytest.approx(given[goal] / given[largest] * getattr(found, largest), rel=1e-9, abs=1e-300)


@given(time=WEIGHT, energy=WEIGHT, money=WEIGHT)
def test_what_was_written_is_read_as_the_same(time: float, energy: float, money: float) -> None:
    if time + energy + money == 0.0:
        return
    found = Objective(time, energy, money)
    assert Objective.of(found.to_json()) == found
    assert Objective.of(",".join(f"{goal}={weight!r}" for goal, weight in found.to_json().items())) == found
    assert Objective.of(found) is found


@given(weight=st.floats(0.0, 1.0))
def test_an_energy_weight_is_time_and_energy_bit_for_bit(weight: float) -> None:
    found = Objective.of_energy_weight(weight)
    assert (found.time, found.energy, found.money) == (1.0 - weight, weight, 0.0)


def test_the_ways_to_say_it() -> None:
    wanted = Objective(0.6, 0.2, 0.2)
    assert Objective.of("time=0.6,energy=0.2,money=0.2") == wanted
    assert Objective.of(" money = 0.2 , time=0.6, energy=.2") == wanted
    assert Objective.of({"time": 0.6, "energy": 0.2, "money": 0.2}) == wanted
    assert Objective.of("time=3,energy=1") == Objective(0.75, 0.25)
    assert Objective.of("money=7").to_json() == {"time": 0.0, "energy": 0.0, "money": 1.0}
    assert str(wanted) == "time=0.6,energy=0.2,money=0.2"
    assert Objective.chosen(None, None) is None
    assert Objective.chosen(None, 0.5) == BALANCED == Objective.chosen("time=1,energy=1", None)


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": ("", "'' is no goal=number; write e.g. time=0.6,energy=0.2,money=0.2"),
    "no equals sign": ("time=1,energy", "'energy' is no goal=number; write e.g. time"),
    "an unknown goal": ("tme=1", "unknown goal in weights 'tme': did you mean 'time'"),
    "a goal twice": ("time=1,time=2", "names 'time' twice"),
    "no number": ("time=much", "time is 'much', but it must be a number from 0"),
    "not a number": ("time=nan", "time is nan, but it must be a number from 0"),
    "infinite": ("time=inf", "time is inf"),
    "negative": ("time=1,money=-0.1", "money is -0.1, but it must be a number from 0"),
    "too large": ("time=1e7", "time is 10000000.0"),
    "all zero": ("time=0,money=0", "at least one must be above 0"),
    "another type": (0.5, "weights is 0.5, but it must be text like"),
    "text in a mapping": ({"time": "1"}, "time is '1'"),
    "yes": ({"time": True}, "time is True"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_weights_are_refused_with_value_rule_and_fix(name: str) -> None:
    weights, words = WRONG[name]
    with pytest.raises(InvalidInputError) as caught:
        Objective.of(weights)
    assert words in str(caught.value)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, "0.5", True])
def test_wrong_energy_weights_are_refused(weight: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"energy_weight is .*, but it must be a number from 0 to 1"):
        Objective.chosen(None, weight)


def test_both_ways_at_once_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="both say what counts; leave one out"):
        Objective.chosen("time=1", 0.5)


@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        found = Objective.of(text)
    except InvalidInputError:
        return
    assert sum(found.to_json().values()) == pytest.approx(1.0)


def test_a_change_of_what_counts_replaces_the_other_way_of_saying_it() -> None:
    assert overridden({"energy_weight": 0.0, "hidden": 8}, {"weights": "money=1"}) == {
        "hidden": 8,
        "weights": "money=1",
    }
    assert overridden({"weights": "money=1"}, {"energy_weight": 0.0}) == {"energy_weight": 0.0}
    assert overridden({"energy_weight": 0.0}, {"hidden": 8}) == {"energy_weight": 0.0, "hidden": 8}
    assert set(ARGUMENTS) == {"energy_weight", "weights"}
