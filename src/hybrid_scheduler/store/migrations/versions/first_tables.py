"""The first tables. A released migration is never edited: changes are a new file that names this one as its parent."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make them, with the rows of the two tables that have exactly one."""
    op.create_table(
        "runs",
        sa.Column("id", ID, primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("configuration", sa.JSON(), nullable=False),
        sa.Column("schedulers", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON()),
        sa.Column("first_task_id", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("last_task_id", sa.BigInteger()),
        sa.Column("tasks", sa.BigInteger(), nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("ended", TIME),
        sa.Column("status", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "tasks",
        sa.Column("task_id", ID, primary_key=True, autoincrement=False),
        sa.Column("run_id", ID, sa.ForeignKey("runs.id", name="fk_tasks_run_id"), nullable=False),
        *_features(),
        sa.Column("arrival_time", sa.Double(), nullable=False),
        sa.Column("dependencies", sa.JSON(), nullable=False),
    )
    measured = ("actual_time", "wait_time", "response_time", "finish_time", "energy_consumption", "execution_cost")
    parent = sa.ForeignKey("tasks.task_id", name="fk_scheduler_results_task_id")
    op.create_table(
        "scheduler_results",
        sa.Column("id", ID, primary_key=True),
        sa.Column("task_id", ID, parent, nullable=False),
        sa.Column("scheduler_name", sa.Text(), nullable=False),
        sa.Column("gpu_fraction", sa.Double(), nullable=False),
        sa.Column("gpu_id", sa.Integer()),
        *(sa.Column(name, sa.Double(), nullable=False) for name in measured),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.UniqueConstraint("task_id", "scheduler_name", name="uq_scheduler_results_task_id_scheduler_name"),
    )
    op.create_index("ix_scheduler_results_scheduler_name_task_id", "scheduler_results", ["scheduler_name", "task_id"])
    op.create_table(
        "training_data",
        sa.Column("task_id", ID, primary_key=True, autoincrement=False),
        *_features(),
        sa.Column("optimal_gpu_fraction", sa.Double(), nullable=False),
        sa.Column("optimal_time", sa.Double(), nullable=False),
        sa.Column("times", sa.JSON(), nullable=False),
    )
    op.create_table(
        "model_versions",
        sa.Column("id", ID, primary_key=True),
        sa.Column("scheduler_name", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("r2", sa.Double()),
        sa.Column("mae", sa.Double()),
        sa.Column("path", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "submitted_tasks",
        sa.Column("task_id", ID, primary_key=True, autoincrement=False),
        sa.Column("run_id", ID, sa.ForeignKey("runs.id", name="fk_submitted_tasks_run_id"), nullable=False),
        *_features(),
        sa.Column("dependencies", sa.JSON(), nullable=False),
        sa.Column("submitted", TIME, nullable=False),
    )
    lease = op.create_table(
        "engine_lease",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("owner", sa.Text()),
        sa.Column("expires", TIME),
    )
    counter = op.create_table(
        "id_counter",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("next_task_id", sa.BigInteger(), nullable=False),
    )
    op.bulk_insert(lease, [{"id": 1, "owner": None, "expires": None}])
    op.bulk_insert(counter, [{"id": 1, "next_task_id": 0}])


def _features() -> list[sa.Column[float]]:
    names = ("size", "compute_intensity", "memory_required")
    return [sa.Column(name, sa.Double(), nullable=False) for name in names]
