"""The floor under the responses of a live race."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.live.figures import GROUP, ResponseFloor
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World


def test_tasks_are_bounded_together_once_there_are_enough() -> None:
    """One device, tasks of a second at once: until the group is full each counts alone, then n (n + 1) / 2 seconds."""
    floor = ResponseFloor(World(ClusterSpec.default(num_gpus=0)))
    half = GROUP // 2
    floor.add(np.zeros(half), np.ones(half), np.ones((half, 1)))
    assert floor.seconds == pytest.approx(half)
    floor.add(np.zeros(half + 1), np.append(np.ones(half), np.inf), np.ones((half + 1, 1)))
    assert floor.seconds == pytest.approx(GROUP * (GROUP + 1) / 2)
    floor.add(np.zeros(3), np.ones(3), np.ones((3, 1)))
    assert floor.seconds == pytest.approx(GROUP * (GROUP + 1) / 2 + 3)
