"""What the golden databases hold. `python tests/store/golden_store.py FILE` made each of `tests/golden/store_v*.db`.

A golden database is made once, by the code that first had its schema, and never again: it stands for the files people
have. A new schema gets a new golden database beside the old ones.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

from hybrid_scheduler.store import Batch, LearningRow, MeasuredRow, RetrainingRow, RunRow, SubmittedTask, open_store
from hybrid_scheduler.testing.store.samples import SCHEDULERS, sample

MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
CONFIGURATION = {"workload": {"preset": "mixed", "load": 0.6}}
SUMMARY = {"greedy": {"avg_response": 0.125, "p99_response": None}}
TASKS = 12
RETRAINING = RetrainingRow(1, 2, "hybrid_ml", MOMENT, 50, "drift", 812, 8, 5, 0.121, 0.097, 1)
LEARNING = LearningRow(1, 2, "hybrid_ml", MOMENT, 50, {"r2": 0.75, "mae": None})
"""Since schema 4."""
MEASURED = MeasuredRow("matmul", "NVIDIA H200", 40, 7, -3.25)
"""Since schema 6."""


def batch_of(run: RunRow) -> Batch:
    return sample(run, range(TASKS))


def submitted_to(run: RunRow) -> SubmittedTask:
    return SubmittedTask(run.first_task_id + TASKS, run.id, 960.0, 0.75, 81.0, (run.first_task_id,), MOMENT)


async def write_golden(file: str) -> None:
    async with await open_store(f"sqlite+aiosqlite:///{file}") as store:
        run = await store.begin_run(
            "compare",
            seed=42,
            configuration=CONFIGURATION,
            schedulers=SCHEDULERS,
            name="golden",
            reserve=TASKS,
            started=MOMENT,
        )
        await store.write(batch_of(run))
        await store.end_run(run.id, "finished", SUMMARY)
        live = await store.begin_run(
            "live", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=10**9, started=MOMENT
        )
        await store.submit([submitted_to(live)])
        await store.add_model_version("hybrid_ml", rows=50, r2=0.75, path="models/hybrid_ml.npz", created=MOMENT)
        await store.note_learning([RETRAINING], [LEARNING])
        await store.keep_measured([MEASURED])
        await store.acquire_lease("somebody", 1)


if __name__ == "__main__":
    asyncio.run(write_golden(sys.argv[1]))
