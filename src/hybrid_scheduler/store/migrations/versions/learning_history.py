"""What learners did over time, and means that are finer than an hour or belong to one run.

New tables only: quick whatever the length of the history. They are empty at first; what was raced before is in
`hourly_means` and in the summaries of its runs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Retrainings, learning figures, means by minute and by run."""
    op.create_table(
        "retrainings",
        *_moment_of_a_learner(),
        sa.Column("reason", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("rows", "trees", "replaced")),
        sa.Column("error_before", sa.Double()),
        sa.Column("error_after", sa.Double()),
        sa.Column("version", sa.BigInteger()),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "learning_figures",
        *_moment_of_a_learner(),
        sa.Column("figures", sa.JSON(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_learning_figures_run_id", "learning_figures", ["run_id"])
    for table, key in (("minute_means", "minute"), ("run_means", "run_id")):
        op.create_table(
            table,
            sa.Column(key, sa.BigInteger(), primary_key=True, autoincrement=False),
            sa.Column("scheduler_name", sa.Text(), primary_key=True),
            *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("tasks", "failed", "wins")),
            *(
                sa.Column(f"sum_{name}", sa.Double(), nullable=False)
                for name in ("response", "wait", "time", "energy", "cost")
            ),
            sqlite_with_rowid=False,
        )


def _moment_of_a_learner() -> list[sa.Column[object]]:
    return [
        sa.Column("id", ID, primary_key=True),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("scheduler_name", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("tasks", sa.BigInteger(), nullable=False),
    ]
