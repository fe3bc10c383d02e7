"""The schema on a real Postgres, made and thrown away here: tables and models agree, everything applies twice.

Ends with 0, or with the error that shows what does not hold.
"""

import sys
import tempfile
from pathlib import Path

from alembic import command
from sqlalchemy import Connection, Engine, text

from pipeline.system import postgres
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import SQL, alembic_config, apply_views, migrate

FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")  # nothing here needs to survive
VIEWS = "select viewname, definition from pg_views where schemaname = 'warehouse' order by viewname"


def main() -> int:
    """Start a server, check, stop it; a failed check is an exception."""
    with tempfile.TemporaryDirectory(prefix="specwatch-check-") as directory:
        data = Path(directory) / "data"
        try:
            engine = open_warehouse(postgres.ensure_database(postgres.start(data, options=FAST), "checked"))
            check(engine)
            engine.dispose()
        finally:
            postgres.stop(data)
    return 0


def check(engine: Engine) -> None:
    """Migrate twice, compare with the models, apply the views twice, run every query of sql/checks on no rows."""
    first = migrate(engine)
    if migrate(engine) != first:
        message = "migrating again ended at another revision"
        raise AssertionError(message)
    with engine.begin() as connection:
        command.check(alembic_config(connection))
        before = _views(connection)
        apply_views(connection)
        apply_views(connection)
        if _views(connection) != before:
            message = "applying the views again changed one"
            raise AssertionError(message)
        for path in sorted((SQL / "checks").glob("*.sql")):
            if connection.exec_driver_sql(path.read_text(encoding="utf-8")).first() is not None:
                message = f"{path.name} finds rows in an empty warehouse"
                raise AssertionError(message)


def _views(connection: Connection) -> list[tuple[str, str]]:
    return [(name, definition) for name, definition in connection.execute(text(VIEWS))]


if __name__ == "__main__":
    sys.exit(main())
