"""The constant policy a learner must beat: GPU."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import CPU, GPU
from hybrid_scheduler.schedulers.base import CompiledScheduler, kernel
from hybrid_scheduler.schedulers.choose import ANY_NODE, least_loaded, whole


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    device = least_loaded(devices, GPU, ANY_NODE)
    return whole(out, device if device >= 0 else least_loaded(devices, CPU, ANY_NODE), 0.0)


class GpuOnly(CompiledScheduler):
    """Every task whole on the least-loaded GPU (on a CPU only where there is no GPU)."""

    kernel = _policy
