"""Which sweep stands for the release of a cell, and which is of the newest: asked without reading every night.

Revises: 0007
"""
# ruff: noqa: E501 - generated lines; comments of columns are long

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

STANDING = """
update warehouse.cell_result as r
set stands_for_release = true
from (
    select distinct on (o.cell_id, o.hardware_id) o.sweep_id, o.cell_id, o.hardware_id
    from warehouse.cell_result as o
    left join warehouse.speedup as s
        on o.sweep_id = s.sweep_id and o.cell_id = s.cell_id and o.hardware_id = s.hardware_id
        and s.metric = 'latency_speedup'
    order by o.cell_id, o.hardware_id, s.estimate is null, o.planned_at desc, o.sweep_id desc
) as found
where r.sweep_id = found.sweep_id and r.cell_id = found.cell_id and r.hardware_id = found.hardware_id
"""
NEWEST = """
update warehouse.cell_result as r
set newest_engine = true
from (
    select distinct on (c.series_id, c.cell_id = c.baseline_cell_id, o.hardware_id)
        o.sweep_id, o.cell_id, o.hardware_id
    from warehouse.cell_result as o
    inner join warehouse.cell as c on o.cell_id = c.cell_id
    inner join warehouse.engine as e on c.engine_id = e.engine_id
    where o.latest
    order by c.series_id, c.cell_id = c.baseline_cell_id, o.hardware_id, e.version_sort desc
) as found
where r.sweep_id = found.sweep_id and r.cell_id = found.cell_id and r.hardware_id = found.hardware_id
"""


def upgrade() -> None:
    """Bring the schema from 0007 to 0008."""
    op.add_column(
        "cell_result",
        sa.Column(
            "stands_for_release",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Whether this sweep stands for the cell's release on this machine: the last one with a latency speedup, or where none has one, the last that planned it.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "cell_result",
        sa.Column(
            "newest_engine",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Whether it is the latest sweep of its series' newest release on this machine.",
        ),
        schema="warehouse",
    )
    op.execute(STANDING)
    op.execute(NEWEST)
    op.create_index(
        "cell_result_stands_idx",
        "cell_result",
        ["hardware_id", "cell_id"],
        unique=False,
        schema="warehouse",
        postgresql_where=sa.text("stands_for_release"),
    )


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError
