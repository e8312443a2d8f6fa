"""Rows made from columns are those made from outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.store import result_row, result_rows
from hybrid_scheduler.testing import SITUATIONS


def test_rows_from_columns() -> None:
    lost = failed = split = 0
    for situation in SITUATIONS.values():
        outcomes = situation.race(60).run(create_scheduler("greedy"))
        queues = np.arange(3.0 * len(outcomes)).reshape(-1, 3)
        queues[outcomes.failed] = np.nan
        untold = np.arange(len(outcomes)) % 5 == 0
        outcomes = replace(outcomes, queue_seconds=queues, energy=np.where(untold, np.nan, outcomes.energy))
        ids = [7000 + i for i in range(len(outcomes))]
        rows = result_rows(outcomes, "greedy", ids)
        assert rows == [result_row(outcome, "greedy", i) for outcome, i in zip(outcomes, ids, strict=True)]
        assert [row.queue_seconds is None for row in rows] == outcomes.failed.tolist()
        assert [row.energy_consumption is None for row in rows] == untold.tolist()
        some = outcomes.select(np.arange(len(outcomes)) % 2 == 0)
        assert result_rows(some, "greedy", ids[::2]) == rows[::2]
        lost += sum(part.lost for row in rows for part in row.parts)
        failed += sum(row.failed for row in rows)
        split += sum(0 < row.gpu_fraction < 1 for row in rows)
    assert lost > 0
    assert failed > 0
    assert split > 0
