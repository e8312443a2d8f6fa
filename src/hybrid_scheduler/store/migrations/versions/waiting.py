"""How long a task waited for its scheduler, and how often it was overtaken meanwhile.

Columns are added at the end and nothing is rewritten: quick whatever the length of the history. Rows that are there
keep null in them, which means that nobody knows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Two columns for results."""
    op.add_column("scheduler_results", sa.Column("decided_time", sa.Double()))
    op.add_column("scheduler_results", sa.Column("overtaken", sa.Integer()))
