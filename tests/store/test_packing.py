"""Seconds in few bytes come back exactly."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.store.packing import pack_seconds, unpack_seconds


@given(st.lists(st.just(0.0) | st.floats(min_value=0.0), max_size=40))
def test_what_is_packed_comes_back(seconds: list[float]) -> None:
    assert unpack_seconds(pack_seconds(seconds)) == tuple(seconds)


def test_an_empty_queue_takes_a_bit() -> None:
    assert len(pack_seconds([0.0] * 5)) == 3
    assert len(pack_seconds([0.0, 1 / 3, 0.0, math.inf, 0.0])) == 3 + 16
