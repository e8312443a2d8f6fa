"""Colours: one each, always the same, far enough apart."""

from __future__ import annotations

import itertools
import re

from hybrid_scheduler.schedulers.colours import FIXED, OKABE_ITO, SAFE_ORDER, colour_blind_safe, colour_of
from hybrid_scheduler.schedulers.registry import scheduler_names


def test_the_built_in_ones_are_told_apart() -> None:
    names = {*scheduler_names(), "lower_bound"}
    assert {name for name in names if name in FIXED} >= {"hybrid_ml", "rl_agent", "oracle", "mct", "cpu_only"}
    for a, b in itertools.combinations(FIXED, 2):
        assert _distance(FIXED[a], FIXED[b]) > 40, (a, b)
    assert (colour_of("hybrid_ml"), colour_of("rl_agent")) == ("#22d3ee", "#a855f7")


def test_other_peoples_schedulers() -> None:
    names = [f"my_scheduler_{k}" for k in range(20)]
    colours = [colour_of(name) for name in names]
    assert colours == [colour_of(name) for name in names]
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert len(set(colours)) == 20
    assert "#" + "0" * 6 not in colours


def test_colour_blind_safe() -> None:
    assert set(OKABE_ITO) == set(FIXED)
    assert set(SAFE_ORDER) <= set(OKABE_ITO.values())
    others = [colour for colour in OKABE_ITO.values() if colour not in SAFE_ORDER]
    for other in others:
        for colour in SAFE_ORDER:
            assert abs(_lightness(other) - _lightness(colour)) > 10 or _distance(other, colour) > 100, (other, colour)
    assert len(set(OKABE_ITO.values())) == len(OKABE_ITO), "every built-in one has its own"
    assert {colour_blind_safe(f"mine_{k}") for k in range(50)} <= set(SAFE_ORDER)


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _distance(a: str, b: str) -> float:
    rgb = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in (a, b)]
    return float(sum((x - y) ** 2 for x, y in zip(*rgb, strict=True)) ** 0.5)
