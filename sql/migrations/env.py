"""Alembic's environment. Runs only on a connection that pipeline.warehouse.migrate passes in, lock already held."""

import re

from alembic import context

from pipeline.warehouse.tables import METADATA
from pipeline.warehouse.tables.metadata import SCHEMA, STAGING_SCHEMA

PARTITION = re.compile(r"request_\d{4}_\d{2}")  # made from their parent, which is compared


def include_name(name, type_, parent_names):  # noqa: ARG001 - a hook that Alembic calls
    """Compare our two schemas and nothing else of the database."""
    if type_ == "table":
        return not PARTITION.fullmatch(name)
    return type_ != "schema" or name in {SCHEMA, STAGING_SCHEMA}


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table_schema=SCHEMA,
    include_schemas=True,
    include_name=include_name,
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
