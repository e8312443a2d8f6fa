"""What a real machine does not tell, and what was measured on it.

Energy that no machine told is null, in a result and in every sum it would be in. SQLite cannot take NOT NULL from a
column, so the tables are copied there, the results too: some 20 s per million of them, and room for a second copy.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

SUMS = {"hourly_means": "hour", "minute_means": "minute", "run_means": "run_id"}


def upgrade() -> None:
    """Energy may be unknown; one table more."""
    with op.batch_alter_table("scheduler_results") as table:
        table.alter_column("energy_consumption", existing_type=sa.Double(), nullable=True)
    for name in SUMS:
        with op.batch_alter_table(name, table_kwargs={"sqlite_with_rowid": False}) as table:
            table.alter_column("sum_energy", existing_type=sa.Double(), nullable=True)
    op.create_table(
        "measured_times",
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("hardware", sa.Text(), primary_key=True),
        sa.Column("step", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("measurements", sa.Integer(), nullable=False),
        sa.Column("log_seconds", sa.Double(), nullable=False),
        sqlite_with_rowid=False,
    )
