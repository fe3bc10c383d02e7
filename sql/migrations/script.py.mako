"""${message}.

Revises: ${down_revision | comma,n}
"""
# ruff: noqa: E501 - generated lines; comments of columns are long

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Bring the schema from ${down_revision or "nothing"} to ${up_revision}."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError
