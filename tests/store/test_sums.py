"""Sums per scheduler and hour: who wins, what fails, and that hours add up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hybrid_scheduler.store import ResultRow, sums

MOMENT = datetime(2026, 5, 6, 7, 59, 59, 999_999, tzinfo=UTC)


def result(task: int, name: str, response: float, *, failed: bool = False) -> ResultRow:
    return ResultRow(task, name, 0.0, None, 0.5, response - 0.5, response, 9.0, 2.0 * response, 0.25, failed, ())


def test_wins_ties_and_failures() -> None:
    rows = [
        *(result(0, "a", 1.0), result(0, "b", 2.0), result(0, "c", 1.0)),  # a tie counts for each
        *(result(1, "a", 0.5, failed=True), result(1, "b", 3.0), result(1, "c", 4.0)),  # who failed wins nothing
        *(result(2, name, 1.0, failed=True) for name in "abc"),  # nobody wins
    ]
    a, b, c = sums.summed(rows, MOMENT)
    assert a == (MOMENT.replace(minute=0, second=0, microsecond=0), "a", 3, 2, 1, 1.0, 0.5, 0.5, 2.0, 0.25)
    assert (b.tasks, b.failed, b.wins, b.sum_response, b.sum_energy) == (3, 1, 1, 5.0, 10.0)
    assert (c.tasks, c.failed, c.wins, c.sum_wait, c.sum_time) == (3, 1, 1, 4.0, 1.0)


def test_energy_that_is_not_known_of_one_task_is_not_known_of_all() -> None:
    rows = [result(0, "a", 1.0), result(1, "a", 2.0)._replace(energy_consumption=None), result(0, "b", 1.0)]
    failed = result(1, "b", 1.0, failed=True)._replace(energy_consumption=None)  # counts in no sum
    a, b = sums.summed([*rows, failed], MOMENT)
    assert (a.sum_energy, a.sum_response, a.sum_cost) == (None, 3.0, 0.5)
    assert b.sum_energy == 2.0


def test_the_hour_is_that_of_greenwich() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=5, minutes=45)))
    (row,) = sums.summed([result(0, "a", 1.0)], elsewhere)
    assert row.hour == datetime(2026, 5, 6, 7, tzinfo=UTC)
