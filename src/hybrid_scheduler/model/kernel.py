"""What a compiled policy is called with and writes: signatures, facts of the node, rows of a decision."""

from __future__ import annotations

from typing import Final

SPLIT: Final = 0
"""Fact: 0 for `concurrent`, 1 for `serial` splits."""
PENALTY: Final = 1
MEMORY_POLICY: Final = 2
"""Fact: 0 for `fallback`, 1 for `fail`."""
WAITING_COUNT: Final = 3
"""Fact that changes: how many tasks wait to be started; 0 for schedulers that decide at once."""
WAITING_LOG: Final = 4
"""Fact that changes: mean of the logarithms of the seconds that the waiting tasks are expected to take."""
FACT_COUNT: Final = 5

PART_DEVICE: Final = 0
PART_SHARE: Final = 1
PART_EXPECTED: Final = 2

KERNEL_SIGNATURE: Final = (
    "int64(int64, float64, float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1])"
)
"""Signature of a compiled policy: ``(number, now, task, devices, times, free, facts, state, out) -> parts``.

`number` counts the decisions, `task` has the `TASK_*` columns, `devices` one row of device columns each, `times` the
`FIXED` and `SHARED` seconds per device (for a scheduler that neither `uses_estimates` nor `knows_truth`: shape (0, 0)
or, where data comes from the task's parents, the seconds until it would be there as `FIXED` and nothing else), `free`
when each device will be free (length 0 unless it `knows_truth`), `facts` the public facts, `state` whatever the
scheduler keeps. The policy writes one `PART_*` row per part into `out` and returns how many: 1 or 2.
"""

CHOSEN: Final = 2
"""Row of a dispatch policy's `out` whose first number says which of the waiting tasks starts."""
DISPATCH_SIGNATURE: Final = (
    "int64(int64, float64, float64[:, ::1], float64[:, :, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1])"
)
"""Signature of a compiled dispatch: ``(number, now, waiting, times, devices, free, facts, state, out) -> parts``.

`waiting` has a row per candidate, the shortest first, then the oldest, then a sample of the rest (`TASK_*` columns,
`WAITING_SINCE` and `OVERTAKEN`), `times` their `FIXED` and `SHARED` seconds, zeros unless the scheduler sees times. The
policy writes the row of the task to start into ``out[CHOSEN, 0]`` and its parts as a deciding policy does; with 0 parts
it starts nothing, until something changes.
The rest is as in `KERNEL_SIGNATURE`.
"""

EXPECT_SIGNATURE: Final = "int64(float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])"
"""Signature of a compiled expectation: ``(task, devices, facts, state, times) -> 0``.

Called when a task enters the waiting room, and for those that wait when the scheduler has changed its mind: it writes
the `FIXED` and `SHARED` seconds it expects the task to take on every device; NaN where it knows nothing.
"""
