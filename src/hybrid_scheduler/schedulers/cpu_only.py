"""The constant policy a learner must beat: CPU."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import CPU
from hybrid_scheduler.schedulers.base import CompiledScheduler, kernel
from hybrid_scheduler.schedulers.choose import whole_on


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    return whole_on(out, devices, CPU)


class CpuOnly(CompiledScheduler):
    """Every task whole on the least-loaded CPU (on a GPU only where there is no CPU)."""

    kernel = _policy
