"""Cells get a load (closed or open loop), an input length and guided decoding; prompt sets what they state.

What was measured before is a closed loop over prompts as they are, of our own sets.

Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LOAD = (
    "case arrival"
    " when 'closed' then concurrency is not null and request_rate is null"
    " when 'poisson' then concurrency is null and request_rate is not null"
    " when 'fixed' then concurrency is null and request_rate is not null"
    " else false end"
)
EARLIER = {  # table -> column -> its value in the rows that are there
    "cell": {"arrival": "'closed'", "guided": "false"},
    "workload": {
        "temperature": "0",
        "output_rule": "'until the model stops, at most max_tokens'",
        "source": "'specwatch'",
    },
}


def upgrade() -> None:
    """Add the columns; the value of the rows that are there is told once, and is no default."""
    for table, columns in COLUMNS.items():
        for name, kind, comment in columns:
            told = EARLIER[table].get(name)
            default = None if told is None else sa.text(told)
            column = sa.Column(name, kind, nullable=told is None, server_default=default, comment=comment)
            op.add_column(table, column, schema="warehouse")
            if told is not None:
                op.alter_column(table, name, server_default=None, schema="warehouse")
    op.alter_column(
        "cell",
        "concurrency",
        existing_type=sa.BigInteger(),
        nullable=True,
        comment="Requests in flight (closed loop); NULL in an open loop, which sends at a rate.",
        existing_comment="Requests in flight (closed loop).",
        schema="warehouse",
    )
    op.create_check_constraint(op.f("cell_load_check"), "cell", LOAD, schema="warehouse")
    op.create_table_comment(
        "cell",
        "One row a point of the matrix: engine x target x method x workload x lengths x load.",
        existing_comment="One row a point of the matrix: engine x target x method x workload x lengths x concurrency.",
        schema="warehouse",
    )
    op.alter_column(
        "workload",
        "category",
        existing_type=sa.Text(),
        existing_nullable=False,
        comment="structured, creative, prefill-heavy, ...",
        existing_comment="structured, creative, ...",
        schema="warehouse",
    )


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError


COLUMNS = {
    "cell": (
        (
            "arrival",
            sa.Text(),
            "closed: a request follows one that ended; poisson, fixed: an open loop, sent at request_rate.",
        ),
        ("request_rate", sa.Double(), "Requests sent per s (open loop); NULL: closed loop."),
        (
            "prompt_tokens",
            sa.BigInteger(),
            "Nominal input length of a prompt set that comes in lengths, tokens; NULL: the prompts' own.",
        ),
        ("guided", sa.Boolean(), "Whether prompts with a JSON schema were decoded under it."),
    ),
    "workload": (
        ("temperature", sa.Double(), "Temperature stated for the set; a cell may use another."),
        (
            "output_tokens",
            sa.BigInteger(),
            "max_tokens stated for the set; NULL: the matrix says; a cell may use another.",
        ),
        ("output_rule", sa.Text(), "When an answer ends."),
        ("prompt_tokens", sa.BigInteger(), "Nominal input length, tokens; NULL: every prompt has its own."),
        ("source", sa.Text(), "specwatch, or the path or hub id it was loaded from."),
        ("revision", sa.Text(), "Commit of a hub data set, as resolved; NULL for ours and for files."),
    ),
}
