"""The constant policy a learner must beat: GPU."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import GPU
from hybrid_scheduler.schedulers.base import CompiledScheduler, kernel
from hybrid_scheduler.schedulers.choose import whole_on


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    return whole_on(out, devices, GPU)


class GpuOnly(CompiledScheduler):
    """Every task whole on the least-loaded GPU (on a CPU only where there is no GPU)."""

    kernel = _policy
