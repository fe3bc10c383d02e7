"""What a start says of itself, and what to do when it failed.

Revises: 0005
"""
# ruff: noqa: E501 - generated lines; comments of columns are long

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema from 0005 to 0006."""
    columns = (
        sa.Column(
            "draft_memory_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes of weights beyond the block's baseline: the draft's; NULL without a draft or when not logged.",
        ),
        sa.Column(
            "graph_capture_s", sa.Double(), nullable=True, comment="s to capture CUDA graphs; NULL when not logged."
        ),
        sa.Column(
            "graph_memory_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes that captured CUDA graphs take; NULL when not logged.",
        ),
        sa.Column(
            "init_s",
            sa.Double(),
            nullable=True,
            comment="s of profiling, KV cache and warm-up together; NULL when not logged.",
        ),
        sa.Column(
            "jit_compilations",
            sa.BigInteger(),
            nullable=True,
            comment="Kernels compiled while requests ran, warm-up included; NULL where the release does not watch.",
        ),
        sa.Column(
            "warning_kinds",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Classes of warnings that change figures: jit_during_inference, graph_downgrade, runner_fallback, async_off, feature_off; [] when none, NULL on starts loaded before they were classified.",
        ),
        sa.Column("failure_next_step", sa.Text(), nullable=True, comment="What a person can do; NULL when it served."),
        sa.Column(
            "failure_retryable",
            sa.Boolean(),
            nullable=True,
            comment="Whether trying again unchanged may help; NULL when it served.",
        ),
    )
    for column in columns:
        op.add_column("server_start", column, schema="warehouse")
