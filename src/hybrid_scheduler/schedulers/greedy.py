"""Greedy by compute intensity."""

from __future__ import annotations

from hybrid_scheduler.model.view import CPU, GPU, NODE, TASK_INTENSITY
from hybrid_scheduler.schedulers.base import CompiledScheduler, kernel
from hybrid_scheduler.schedulers.choose import ANY_NODE, least_loaded, shared


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    gpu = least_loaded(devices, GPU, ANY_NODE)
    cpu = least_loaded(devices, CPU, devices[gpu, NODE] if gpu >= 0 else ANY_NODE)
    return shared(out, gpu, cpu, task[TASK_INTENSITY])


class Greedy(CompiledScheduler):
    """Gives the GPU a share equal to the task's compute intensity, on the least-loaded GPU."""

    kernel = _policy
