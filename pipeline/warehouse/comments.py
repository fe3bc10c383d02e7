"""Comments on the columns of views: Postgres does not take them over from the tables behind, so they are set here."""

from functools import cache
from pathlib import Path

from psycopg import sql
from sqlalchemy import Connection, text

from pipeline.warehouse.tables import (
    AaPair,
    AcceptancePosition,
    Cell,
    CellOutcome,
    CellResult,
    Engine,
    Load,
    Method,
    Model,
    Row,
    Speedup,
    Sweep,
    SweepResult,
    ValidationResult,
    Verdict,
    Workload,
)
from pipeline.warehouse.tables.metadata import SCHEMA

COLUMNS = Path(__file__).resolve().parents[2] / "sql" / "views" / "columns.txt"
ARMS = {"baseline_": "Baseline: ", "speculative_": "With speculation: "}
# A column of a view means what the first of these with a column of that name says.
_MEANINGS: tuple[type[Row], ...] = (
    *(CellResult, Cell, Method, Engine, Workload, Model, Sweep, Verdict, Speedup, AaPair, SweepResult),
    *(AcceptancePosition, CellOutcome, ValidationResult, Load),
)
_FOUND = text(
    "select c.relname, a.attname, col_description(c.oid, a.attnum) from pg_class as c "
    "inner join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped "
    "where c.relnamespace = cast(:schema as regnamespace) and c.relkind = 'v' order by c.relname, a.attnum"
)


def comment_view_columns(connection: Connection) -> None:
    """Comment every column of every view that has a meaning here and does not say so yet."""
    driver = connection.connection.driver_connection
    for view, column, comment in connection.execute(_FOUND, {"schema": SCHEMA}).all():
        meaning = meaning_of(view, column)
        if meaning is not None and meaning != comment:
            statement = sql.SQL("comment on column {} is {}").format(sql.Identifier(SCHEMA, view, column), meaning)
            connection.exec_driver_sql(statement.as_string(driver), execution_options={"no_parameters": True})


def meaning_of(view: str, column: str) -> str | None:
    """Return what a view's column means; None when neither the file nor a table says."""
    written = _written()
    for name in (f"{view}.{column}", column):
        if name in written:
            return written[name]
    for model in _MEANINGS:
        if column in model.table().columns:
            return model.table().columns[column].comment
    for prefix, arm in ARMS.items():
        if column.startswith(prefix) and (of_arm := meaning_of(view, column.removeprefix(prefix))):
            return arm + of_arm
    return None


@cache
def _written() -> dict[str, str]:
    lines = COLUMNS.read_text(encoding="utf-8").splitlines()
    entries = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {name: meaning for name, _, meaning in entries}
