"""Alembic's environment. Runs only on a connection that pipeline.warehouse.migrate passes in, lock already held."""

from alembic import context

from pipeline.warehouse.tables import METADATA
from pipeline.warehouse.tables.metadata import SCHEMA, STAGING_SCHEMA


def include_name(name, type_, parent_names):  # noqa: ARG001 - a hook that Alembic calls
    """Compare our two schemas and nothing else of the database."""
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
