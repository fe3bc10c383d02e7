"""Bring a database to the present schema: Alembic's revisions, then the views, in one transaction."""

from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from pipeline.errors import UserError
from pipeline.warehouse.comments import comment_view_columns
from pipeline.warehouse.partitions import ensure_partitions, months_from
from pipeline.warehouse.roles import keep_grants
from pipeline.warehouse.summaries import summarize_what_is_not
from pipeline.warehouse.tables.metadata import SCHEMA, STAGING_SCHEMA

SQL = Path(__file__).resolve().parents[2] / "sql"
LOCK = 0x5BEC_1A7C  # any number, the same in every migrator


def migrate(engine: Engine) -> str:
    """Upgrade to the newest revision and apply the views; return the revision. Idempotent; one migrator at a time.

    Views that a revision could trip over are dropped first and made again, inside the same transaction: readers see
    either the old schema or the new one. A view of someone else's on top of ours makes it fail and name that view.
    """
    with engine.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        connection.execute(text(f"create schema if not exists {SCHEMA}"))
        connection.execute(text(f"create schema if not exists {STAGING_SCHEMA}"))
        config = alembic_config(connection)
        head, found = _revisions(connection, config)
        if found != head:
            _drop_views(connection)
            command.upgrade(config, "head")
        ensure_partitions(connection, months_from(datetime.now(UTC).date()))
        apply_views(connection)
        summarize_what_is_not(connection)
        keep_grants(connection)
    return str(head)


def require_current(engine: Engine) -> None:
    """Raise UserError unless the warehouse is at this release's schema; changes nothing."""
    with engine.connect() as connection:
        head, found = _revisions(connection, alembic_config(connection))
    if found != head:
        at = f"at schema revision {found}" if found else "empty"
        message = f"the warehouse is {at}, this release needs {head}. Its owner runs: specwatch db migrate"
        raise UserError(message)


def _revisions(connection: Connection, config: Config) -> tuple[str, str | None]:
    """Return this release's revision and that of the database. Raises UserError for one from a newer release."""
    script = ScriptDirectory.from_config(config)
    context = MigrationContext.configure(connection, opts={"version_table_schema": SCHEMA})
    found = context.get_current_revision()
    known = {revision.revision for revision in script.walk_revisions()}
    if found is not None and found not in known:
        message = f"the warehouse is at schema revision {found}, which this release does not know: update Specwatch."
        raise UserError(message)
    return str(script.get_current_head()), found


def alembic_config(connection: Connection) -> Config:
    """Return Alembic's configuration, built here so that no alembic.ini is needed; env.py uses `connection`."""
    config = Config()
    config.set_main_option("script_location", str(SQL / "migrations"))
    config.attributes["connection"] = connection
    return config


def apply_views(connection: Connection) -> None:
    """Make every view of sql/views in order of file name. When a column list changed, drop them all and make again."""
    statements = [path.read_text(encoding="utf-8") for path in view_files()]
    try:
        with connection.begin_nested():
            _execute_all(connection, statements)
    except Exception as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) != "42P16":  # cannot change a view's columns
            raise
        _drop_views(connection)
        _execute_all(connection, statements)
    comment_view_columns(connection)


def view_files() -> list[Path]:
    """Return the view files in the order in which they depend on each other: NN_name.sql."""
    return sorted((SQL / "views").glob("*.sql"))


def _execute_all(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _drop_views(connection: Connection) -> None:
    for path in reversed(view_files()):
        name = path.stem.partition("_")[2]
        connection.execute(text(f"drop view if exists {SCHEMA}.{name}"))
