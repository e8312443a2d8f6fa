"""The replay buffer: rows in, rows out, also when they become wider."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.replay_buffer import ReplayBuffer


def test_wider_rows_keep_what_they_hold() -> None:
    narrow = ReplayBuffer(3, {"a": 2, "b": 0, "c": 1})
    for number in range(4):
        narrow.add(a=[number, number + 0.5], b=10 * number, c=[100 * number])
    wide = narrow.widened({"a": 4, "b": 0, "c": 2})
    assert (len(wide), wide.total) == (3, 4)
    seen = wide.columns(np.arange(3))
    assert seen["a"].tolist() == [[3.0, 3.5, 0.0, 0.0], [1.0, 1.5, 0.0, 0.0], [2.0, 2.5, 0.0, 0.0]]
    assert seen["b"].tolist() == [30.0, 10.0, 20.0]
    assert seen["c"].tolist() == [[300.0, 0.0], [100.0, 0.0], [200.0, 0.0]]
    wide.add(a=[9.0, 9.0, 9.0, 9.0], b=1.0, c=[2.0])
    assert wide.columns(np.array([1]))["a"].tolist() == [[9.0] * 4]
