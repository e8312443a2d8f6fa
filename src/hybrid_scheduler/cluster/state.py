"""The simulated state as arrays, and the codes the compiled loop speaks in."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.task import FloatArray, IntArray

UNDECIDED: Final = 0
PLACED: Final = 1
FAILED: Final = 2
DOOMED: Final = 3
"""Task status: not decided yet, and one of its parents failed, so it never can be."""
WAITS: Final = 4
"""Task status: ready, and in the waiting room until the scheduler starts it."""

NEXT: Final = 0
"""Counter: position of the next task that has not been looked at as an arrival."""
TASKS: Final = 1
PARTS: Final = 2
DECISIONS: Final = 3
READY: Final = 4
"""Counter: size of the heap of tasks that are ready through their parents or a second time."""
DONE: Final = 5
"""Counter: size of the heap of outcomes not delivered yet."""
CURRENT: Final = 6
"""Counter: the task Python is asked to decide, -1 for none."""
ANSWER: Final = 7
"""Counter: how many parts Python wrote into `out`."""
DISTURBED: Final = 8
"""Counter: disturbances applied so far."""
EDGES: Final = 9
DOWN: Final = 10
"""Counter: devices that are down."""
WAITING_TASKS: Final = 11
"""Counter: tasks in the waiting room."""
OLDEST: Final = 12
"""Counter: the task that has been in the waiting room longest, -1 for none."""
NEWEST: Final = 13
ASK: Final = 14
"""Counter: whether the scheduler is to be asked what to start (`QUIET`, `ASKING`, `CHANGED`)."""
EXPECTED_VERSION: Final = 15
"""Counter: the version of the scheduler's expectation by which the waiting room was last put in order."""
RENEWED: Final = 16
"""Counter: decisions made before that."""
ENTERED: Final = 17
"""Counter: where in `ages` the next task that enters the waiting room is noted."""
AGES: Final = 18
"""Counter: how much of `ages` is in use; 0 while so few tasks wait that they are counted one by one."""
DATA_ROWS: Final = 19
"""Counter: how much of `data` is in use."""
WIDEST: Final = 20
"""Counter: the width of the widest task there has been."""
COUNTERS: Final = 21

QUIET: Final = 0
"""Nothing has changed since the scheduler started nothing."""
ASKING: Final = 1
CHANGED: Final = 2
"""Something has changed at the present moment, whose other events come first."""

NOW: Final = 0
FLOOR: Final = 1
"""Clock: nothing can be decided before this, because no device is up."""
ROOM_LOGS: Final = 2
"""Clock: sum over the waiting room of the logarithms of the expected seconds."""
CLOCKS: Final = 3

DRAINED: Final = 0
"""Reason to return: every task is decided and no disturbance is left."""
WAITING: Final = 1
"""Reason: the next decision is due after `until`."""
PAUSED: Final = 2
"""Reason: the limit of decisions is reached."""
DECIDE: Final = 3
"""Reason: Python must decide task `CURRENT`."""
OUTCOMES: Final = 4
"""Reason: an outcome is due before the next decision and somebody observes."""
GROW: Final = 5
"""Reason: the part columns are full."""
DISTURB: Final = 6
"""Reason: the next thing that happens is a disturbance."""
DISPATCH: Final = 7
"""Reason: Python must say which waiting tasks start, if any."""
STALLED: Final = 8
"""Reason: tasks wait, every device is idle, nothing more will happen, and the scheduler starts nothing."""
ILLEGAL: Final = 16
"""Reasons from here on: the decision for `CURRENT` breaks a rule (`ILLEGAL_REASONS`)."""
ILLEGAL_REASONS: Final = (
    "it has no part or more than two",
    "a part names a device that does not exist",
    "a part names a device that is down",
    "a share is not above 0 and at most 1",
    "an expected time is negative or not a number",
    "the shares of its parts do not add up to 1",
    "a split needs one GPU and one CPU",
    "a split must stay within one node",
    "it starts a task that is not among those it was asked about",
    "a task of several devices needs one part for each of them, or one device of its gang",
    "the devices of a gang must be of one kind",
    "the devices of a gang must differ",
    "the shares of a gang must be equal",
)
NOT_WAITING: Final = ILLEGAL + 8
GANG_PARTS: Final = ILLEGAL + 9
GANG_MIXED: Final = ILLEGAL + 10
GANG_TWICE: Final = ILLEGAL + 11
GANG_SHARES: Final = ILLEGAL + 12

SEES_QUEUES: Final = 0
SEES_ESTIMATES: Final = 1
SEES_TRUTH: Final = 2
SEES_EXPECTED: Final = 3
"""The scheduler sees what it expected itself when the task entered the waiting room; it is kept as `nominal`."""


TASK: Final = np.dtype(
    [
        ("id", np.int64),
        ("arrival", np.float64),
        ("earliest", np.float64),
        ("due", np.float64),
        ("ready", np.float64),
        ("finish", np.float64),
        ("status", np.int32),
        ("parents", np.int32),
        ("waiting", np.int32),
        ("first_edge", np.int32),
        ("first_part", np.int32),
        ("part_count", np.int32),
        ("last_part", np.int32),
        ("first_data", np.int32),
    ],
    align=True,
)
"""A task: `earliest` is its arrival or when it came back, `due` when it can be decided as far as is known, `ready`
when it was; `waiting` counts parents not settled yet; `first_edge` starts the list of its children, `first_data` that
of what its parents hand to it, `last_part` ends the list of all its parts, of which the current `part_count` begin at
`first_part`."""

PART: Final = np.dtype(
    [
        ("share", np.float64),
        ("expected", np.float64),
        ("work", np.float64),
        ("decided", np.float64),
        ("start", np.float64),
        ("end", np.float64),
        ("task", np.int32),
        ("device", np.int32),
        ("next", np.int32),
        ("after", np.int32),
        ("before", np.int32),
        ("lost", np.int32),
    ],
    align=True,
)
"""A part: `work` is its seconds at normal speed, `next` the part behind it in its device's queue, `after` the part that
must end first (serial splits), `before` the part of the same task decided before it; -1 for none."""

DEVICE_QUEUE: Final = np.dtype(
    [
        ("speed", np.float64),
        ("expected", np.float64),
        ("head_start", np.float64),
        ("head_end", np.float64),
        ("head_expected", np.float64),
        ("head", np.int32),
        ("tail", np.int32),
    ],
    align=True,
)
"""What the simulator knows of a device beyond the visible table: speed factor, sum of the expected seconds queued,
first and last part of the queue (-1: empty), and a copy of the first part's figures (an empty queue ends at
infinity)."""

ROOM: Final = np.dtype(
    [
        ("turn", np.int64),
        ("log", np.float64),
        ("rank", np.int32),
        ("older", np.int32),
        ("newer", np.int32),
        ("age", np.int32),
        ("overtaken", np.int32),
    ],
    align=True,
)
"""A task's place in the waiting room: the number its decision would have if nobody overtook anybody, the logarithm of
its expected seconds, its index in the heap by expected seconds, its neighbours in the list by time of entering (-1:
none), and its index in `ages`. What is left when it goes: how often it was `overtaken`, whenever it waited."""

EDGE: Final = np.dtype([("child", np.int32), ("next", np.int32)], align=True)
DATA: Final = np.dtype([("mb", np.float64), ("parent", np.int32), ("next", np.int32)], align=True)
"""Megabytes that one parent hands to a task; `next` is the record of another parent, -1 for none."""
HEAP: Final = np.dtype([("time", np.float64), ("id", np.int64), ("task", np.int64)], align=True)
DISTURBANCE: Final = np.dtype([("time", np.float64), ("speed", np.float64), ("device", np.int64)], align=True)

Records = NDArray[Any]


class State(NamedTuple):
    """Everything the compiled loop reads and writes. Tasks, parts and edges have room for more rows than are used.

    `links` has the seconds a megabyte takes from one device (row) to another (column) and, on the diagonal, the seconds
    a task saves for a megabyte that is on the device already; `savings` the latter with the noise of every task, for
    those that have `data`, and no rows as long as nobody has.
    """

    devices: FloatArray
    facts: FloatArray
    free: FloatArray
    device_queues: Records
    scratch: FloatArray
    out: FloatArray
    counters: IntArray
    clocks: FloatArray
    disturbances: Records
    tasks: Records
    features: FloatArray
    nominal: FloatArray
    realised: FloatArray
    ready: Records
    done: Records
    edges: Records
    parts: Records
    room: Records
    shortest: Records
    candidates: IntArray
    waiting: FloatArray
    waiting_times: FloatArray
    queues: FloatArray
    ages: IntArray
    data: Records
    links: FloatArray
    savings: FloatArray
