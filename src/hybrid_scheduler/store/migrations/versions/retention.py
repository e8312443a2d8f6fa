"""What a store needs that prunes itself, and smaller rows.

Every step is quick whatever the length of the history: columns are added at the end, nothing is rewritten. (On SQLite
`store.opening` rewrites the file afterwards, so that it can shrink.)
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Columns, the table of hourly means, and one index less."""
    op.add_column("tasks", sa.Column("stored", sa.BigInteger()))
    op.add_column("scheduler_results", sa.Column("reason", sa.Text()))
    op.add_column("submitted_tasks", sa.Column("crashes", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("engine_lease", sa.Column("given", sa.DateTime(timezone=True)))
    op.create_table(
        "hourly_means",
        sa.Column("hour", sa.BigInteger(), primary_key=True),
        sa.Column("scheduler_name", sa.Text(), primary_key=True),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("tasks", "failed", "wins")),
        *(
            sa.Column(f"sum_{name}", sa.Double(), nullable=False)
            for name in ("response", "wait", "time", "energy", "cost")
        ),
        sqlite_with_rowid=False,
    )
    op.drop_index("ix_scheduler_results_scheduler_name_task_id", "scheduler_results")
