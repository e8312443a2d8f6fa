"""Conformance suites: what schedulers, workload sources, readers and schedules must satisfy. For third parties too.

>>> from hybrid_scheduler.testing import check_scheduler
>>> check_scheduler(MyScheduler)  # doctest: +SKIP
"""

from hybrid_scheduler.testing.nodes import SITUATIONS, Situation
from hybrid_scheduler.testing.race import CheckedRace
from hybrid_scheduler.testing.readers import READER_CHECKS, check_reader
from hybrid_scheduler.testing.schedule import PlainDevice, Rules, assert_valid_schedule, schedule_violations
from hybrid_scheduler.testing.schedulers import SCHEDULER_CHECKS, Witness, check_scheduler
from hybrid_scheduler.testing.workloads import WORKLOAD_CHECKS, check_workload

__all__ = [
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
    "check_reader",
    "check_scheduler",
    "check_workload",
    "schedule_violations",
]
