"""A decision knows rows; one that was carried out also knows its GPUs."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.model import Decision, InvalidInputError

GPU_ID = np.array([-1, 0, 1])
"""A CPU and two GPUs."""


@pytest.mark.parametrize(
    ("decision", "gpu_id", "gpu_fraction"),
    [
        (Decision.whole(0), None, 0.0),
        (Decision.whole(2), 1, 1.0),
        (Decision.split(1, 0, 0.8), 0, 0.8),
        (Decision(()), None, 0.0),
    ],
)
def test_carried_out_it_answers_for_its_gpus(decision: Decision, gpu_id: int | None, gpu_fraction: float) -> None:
    done = decision.carried_out(GPU_ID)
    assert (done.gpu_id, done.gpu_fraction) == (gpu_id, gpu_fraction)
    assert done == decision
    assert hash(done) == hash(decision)


@pytest.mark.parametrize("name", ["gpu_id", "gpu_fraction"])
def test_before_that_it_refuses(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"device=1.*not carried out.*process_queue or observe"):
        getattr(Decision.whole(1), name)
