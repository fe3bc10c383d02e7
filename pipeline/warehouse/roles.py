"""The four roles of sql/roles.sql: made where that is allowed, kept after migrations, given a password on demand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

ROLES = Path(__file__).resolve().parents[2] / "sql" / "roles.sql"
Role = Literal["owner", "writer", "reader", "annotator"]
INSUFFICIENT_PRIVILEGE = "42501"
_GRANTS_ARE_OLD = text(
    "select exists (select 1 from pg_roles as r where r.rolname = 'specwatch_reader') and exists ("
    "select 1 from pg_class as c where c.relnamespace = 'warehouse'::regnamespace and c.relkind = 'v' "
    "and not has_table_privilege('specwatch_reader', c.oid, 'select'))"
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Making the roles was not allowed."""

    why: str  # what the server said
    script: str  # what one who may has to run, in the warehouse's database


def name_of(role: Role) -> str:
    """Return the role's name in the server."""
    return f"specwatch_{role}"


def make_roles(engine: Engine) -> Refused | None:
    """Make the roles and give them their rights, in one transaction; idempotent. Return why not where that is refused.

    The rows of the warehouse are as before either way.
    """
    try:
        with engine.begin() as connection:
            _apply(connection)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != INSUFFICIENT_PRIVILEGE:
            raise
        return Refused(why=str(error.orig).strip().splitlines()[0], script=ROLES.read_text(encoding="utf-8"))
    return None


def keep_grants(connection: Connection) -> None:
    """After a migration: give the roles, where they are, their rights on views that were made again."""
    if connection.execute(_GRANTS_ARE_OLD).scalar_one():
        _apply(connection)


def allow_login(engine: Engine, role: Role, *, password: str) -> None:
    """Let `role` log in with `password`. Only its hash is sent, so that no server log can hold it."""
    name = name_of(role)
    with engine.begin() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the one driver here
        hashed = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
        statement = sql.SQL("alter role {} with login password {}").format(sql.Identifier(name), hashed)
        connection.exec_driver_sql(statement.as_string(driver), execution_options={"no_parameters": True})


def _apply(connection: Connection) -> None:
    script = ROLES.read_text(encoding="utf-8")
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})
