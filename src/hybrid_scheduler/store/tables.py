"""The tables. `migrations` makes them in a database; a test holds the two against each other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from hybrid_scheduler.store.packing import pack_seconds, unpack_seconds


class UtcTime(TypeDecorator[datetime]):
    """A moment: aware and in UTC on both sides, though SQLite keeps no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class EpochTime(TypeDecorator[datetime]):
    """A moment to the second, as a number: four bytes of a row of SQLite, where a text takes 26."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """To the database."""
        return None if value is None else int(value.timestamp())

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        return None if value is None else datetime.fromtimestamp(value, UTC)


class PackedSeconds(TypeDecorator[tuple[float, ...]]):
    """Seconds per device (`store.packing`)."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: tuple[float, ...] | None, dialect: Dialect) -> bytes | None:
        """To the database."""
        return None if value is None else pack_seconds(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> tuple[float, ...] | None:
        """From the database."""
        return None if value is None else unpack_seconds(value)


metadata = MetaData()

# SQLite makes a column its row number only when it is declared INTEGER; that holds 64 bits there.
Id = BigInteger().with_variant(Integer(), "sqlite")
Document = JSON(none_as_null=True)


def _filled(kind: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that are never null."""
    return [Column(name, kind, nullable=False) for name in names]


def _features() -> list[Column[Any]]:
    return _filled(Double, "size", "compute_intensity", "memory_required")


runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    *_filled(Text, "kind", "name"),
    Column("seed", BigInteger, nullable=False),
    *_filled(Document, "configuration", "schedulers"),
    Column("summary", Document),
    *_filled(BigInteger, "first_task_id", "reserved"),
    Column("last_task_id", BigInteger),
    Column("tasks", BigInteger, nullable=False),
    Column("started", UtcTime, nullable=False),
    Column("ended", UtcTime),
    Column("status", Text, nullable=False),
    sqlite_autoincrement=True,  # a number is not given twice, even when the history was cleared
)

tasks = Table(
    "tasks",
    metadata,
    Column("task_id", Id, primary_key=True, autoincrement=False),
    Column("run_id", Id, ForeignKey("runs.id", name="fk_tasks_run_id"), nullable=False),
    *_features(),
    Column("arrival_time", Double, nullable=False),
    Column("dependencies", Document, nullable=False),
    # The next two are null where the row is older than the columns.
    Column("duration_estimate", Double),
    Column("kind", Text),
    # When it was written, by the clock on the wall; null where the file is older than the column.
    Column("stored", EpochTime),
)

# Its numbers grow with every row written, so their order is the order of age, over all runs.
scheduler_results = Table(
    "scheduler_results",
    metadata,
    Column("id", Id, primary_key=True),
    Column("task_id", Id, ForeignKey("tasks.task_id", name="fk_scheduler_results_task_id"), nullable=False),
    Column("scheduler_name", Text, nullable=False),
    Column("gpu_fraction", Double, nullable=False),
    Column("gpu_id", Integer),
    *_filled(Double, "actual_time", "wait_time", "response_time", "finish_time"),
    # Null where the machine did not tell it.
    Column("energy_consumption", Double),
    Column("execution_cost", Double, nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("parts", Document, nullable=False),
    Column("reason", Text),
    # The next four are null where the row is older than the columns, or the race did not record them.
    Column("ready_time", Double),
    Column("queue_seconds", PackedSeconds),
    Column("decided_time", Double),
    Column("overtaken", Integer),
    UniqueConstraint("task_id", "scheduler_name", name="uq_scheduler_results_task_id_scheduler_name"),
)

# No foreign key: labels stay useful when their tasks are gone.
training_data = Table(
    "training_data",
    metadata,
    Column("task_id", Id, primary_key=True, autoincrement=False),
    *_features(),
    *_filled(Double, "optimal_gpu_fraction", "optimal_time"),
    Column("times", Document, nullable=False),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("scheduler_name", Text, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("r2", Double),
    Column("mae", Double),
    Column("path", Text, nullable=False),
    sqlite_autoincrement=True,
)

submitted_tasks = Table(
    "submitted_tasks",
    metadata,
    Column("task_id", Id, primary_key=True, autoincrement=False),
    Column("run_id", Id, ForeignKey("runs.id", name="fk_submitted_tasks_run_id"), nullable=False),
    *_features(),
    Column("dependencies", Document, nullable=False),
    Column("submitted", UtcTime, nullable=False),
    Column("crashes", Integer, nullable=False, server_default="0"),
)


def _means(table: str, key: Column[Any]) -> Table:
    """Sums by a key and scheduler, so that rows can be added up; that of the energy is null where any task's is."""
    return Table(
        table,
        metadata,
        key,
        Column("scheduler_name", Text, primary_key=True),
        *_filled(BigInteger, "tasks", "failed", "wins"),
        *(
            Column(f"sum_{name}", Double, nullable=name == "energy")
            for name in ("response", "wait", "time", "energy", "cost")
        ),
        sqlite_with_rowid=False,
    )


# Live tasks by the hour in which they were stored; outlives the tasks.
hourly_means = _means("hourly_means", Column("hour", EpochTime, primary_key=True))
# The same by the minute, for the last days only.
minute_means = _means("minute_means", Column("minute", EpochTime, primary_key=True, autoincrement=False))
# The same by run, of every kind; outlives the tasks, not the run.
run_means = _means("run_means", Column("run_id", BigInteger, primary_key=True, autoincrement=False))


def _moment_of_a_learner() -> list[Column[Any]]:
    """No foreign key: the row stays useful when its run is forgotten."""
    return [
        Column("id", Id, primary_key=True),
        Column("run_id", Id, nullable=False),
        Column("scheduler_name", Text, nullable=False),
        Column("created", UtcTime, nullable=False),
        Column("tasks", BigInteger, nullable=False),
    ]


retrainings = Table(
    "retrainings",
    metadata,
    *_moment_of_a_learner(),
    Column("reason", Text, nullable=False),
    *_filled(BigInteger, "rows", "trees", "replaced"),
    Column("error_before", Double),
    Column("error_after", Double),
    Column("version", BigInteger),
    sqlite_autoincrement=True,
)

learning_figures = Table(
    "learning_figures",
    metadata,
    *_moment_of_a_learner(),
    Column("figures", Document, nullable=False),
    Index("ix_learning_figures_run_id", "run_id"),
    sqlite_autoincrement=True,
)

# How long tasks took on real hardware.
measured_times = Table(
    "measured_times",
    metadata,
    *(Column(name, Text, primary_key=True) for name in ("kind", "hardware")),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("measurements", Integer, nullable=False),
    Column("log_seconds", Double, nullable=False),
    sqlite_with_rowid=False,
)

# The next two have one row each, made by the first migration.
engine_lease = Table(
    "engine_lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("owner", Text),
    Column("expires", UtcTime),
    Column("given", UtcTime),
)

id_counter = Table(
    "id_counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("next_task_id", BigInteger, nullable=False),
)

EXPORTED = (
    *(runs, tasks, scheduler_results, training_data, model_versions, submitted_tasks),
    *(hourly_means, minute_means, run_means, retrainings, learning_figures, measured_times),
)
"""The tables that can be exported; the first columns of each are its key."""
