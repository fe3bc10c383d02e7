"""Which part of its window a request belongs to.

Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COMMENT = (
    "ramp_up: sent before the window held the cell's load; tail: ended after it last did; steady: all inside; "
    "NULL: the window never held it, or the request was loaded by an older release."
)


def upgrade() -> None:
    """Bring the schema from 0006 to 0007."""
    for schema in ("warehouse", "staging"):
        op.add_column("request", sa.Column("phase", sa.Text(), nullable=True, comment=COMMENT), schema=schema)


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError
