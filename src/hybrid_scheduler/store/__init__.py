"""The store: runs, tasks, results, labels and model versions, on SQLite or PostgreSQL.

>>> from hybrid_scheduler.store import open_store
>>> store = await open_store("sqlite+aiosqlite:///data/hybrid_scheduler.db")  # doctest: +SKIP
"""

from hybrid_scheduler.store.columns import raced
from hybrid_scheduler.store.errors import StoreError, StoreUnavailableError
from hybrid_scheduler.store.limits import StoreLimits
from hybrid_scheduler.store.opening import create_store, open_store, upgrade_store
from hybrid_scheduler.store.outcomes import result_row, result_rows, task_row, training_row
from hybrid_scheduler.store.retention import Retention
from hybrid_scheduler.store.rows import (
    Batch,
    Cleared,
    Collected,
    ComparedTask,
    ConnectedTasks,
    Counts,
    HourRow,
    LearningRow,
    MarkRow,
    MeasuredRow,
    ModelVersionRow,
    PartRow,
    ResultRow,
    RetrainingRow,
    RunMeansRow,
    RunRow,
    SubmittedTask,
    TaskRow,
    TrainingRow,
)
from hybrid_scheduler.store.store import Store

__all__ = [
    "Batch",
    "Cleared",
    "Collected",
    "ComparedTask",
    "ConnectedTasks",
    "Counts",
    "HourRow",
    "LearningRow",
    "MarkRow",
    "MeasuredRow",
    "ModelVersionRow",
    "PartRow",
    "ResultRow",
    "Retention",
    "RetrainingRow",
    "RunMeansRow",
    "RunRow",
    "Store",
    "StoreError",
    "StoreLimits",
    "StoreUnavailableError",
    "SubmittedTask",
    "TaskRow",
    "TrainingRow",
    "create_store",
    "open_store",
    "raced",
    "result_row",
    "result_rows",
    "task_row",
    "training_row",
    "upgrade_store",
]
