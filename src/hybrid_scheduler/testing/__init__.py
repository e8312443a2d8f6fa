"""Conformance suites: what schedulers, workloads, readers, schedules and lanes must satisfy. For third parties too.

>>> from hybrid_scheduler.testing import check_scheduler
>>> check_scheduler(MyScheduler)  # doctest: +SKIP

The names are loaded when they are first used: the processes of lanes that are checked load one of these modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.lazy import lazy_names

if TYPE_CHECKING:
    from hybrid_scheduler.testing.lanes import LANE_CHECKS, check_lanes
    from hybrid_scheduler.testing.nodes import SITUATIONS, Situation
    from hybrid_scheduler.testing.race import CheckedRace
    from hybrid_scheduler.testing.readers import READER_CHECKS, check_reader
    from hybrid_scheduler.testing.schedule import PlainDevice, Rules, assert_valid_schedule, schedule_violations
    from hybrid_scheduler.testing.schedulers import SCHEDULER_CHECKS, Witness, check_scheduler
    from hybrid_scheduler.testing.workloads import WORKLOAD_CHECKS, check_workload

__all__ = [
    "LANE_CHECKS",
    "READER_CHECKS",
    "SCHEDULER_CHECKS",
    "SITUATIONS",
    "WORKLOAD_CHECKS",
    "CheckedRace",
    "PlainDevice",
    "Rules",
    "Situation",
    "Witness",
    "assert_valid_schedule",
    "check_lanes",
    "check_reader",
    "check_scheduler",
    "check_workload",
    "schedule_violations",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LANE_CHECKS": "lanes",
        "READER_CHECKS": "readers",
        "SCHEDULER_CHECKS": "schedulers",
        "SITUATIONS": "nodes",
        "WORKLOAD_CHECKS": "workloads",
        "CheckedRace": "race",
        "PlainDevice": "schedule",
        "Rules": "schedule",
        "Situation": "nodes",
        "Witness": "schedulers",
        "assert_valid_schedule": "schedule",
        "check_lanes": "lanes",
        "check_reader": "readers",
        "check_scheduler": "schedulers",
        "check_workload": "workloads",
        "schedule_violations": "schedule",
    },
)
