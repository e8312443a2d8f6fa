"""What a task was to its schedulers, and the moment of every decision about it.

Columns are added at the end and nothing is rewritten: quick whatever the length of the history. Rows that are there
keep null in them, which means that nobody knows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Two columns for tasks, two for results."""
    op.add_column("tasks", sa.Column("duration_estimate", sa.Double()))
    op.add_column("tasks", sa.Column("kind", sa.Text()))
    op.add_column("scheduler_results", sa.Column("ready_time", sa.Double()))
    op.add_column("scheduler_results", sa.Column("queue_seconds", sa.LargeBinary()))
