"""Any table or view of the warehouse as a stream of bytes: CSV, JSON lines or Parquet, in memory that does not grow.

All of one export is read in one snapshot, through COPY or a cursor on the server.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, BinaryIO, Literal

import psycopg
from psycopg import sql
from sqlalchemy import Engine

from pipeline.domain.catalogue import METRICS
from pipeline.errors import UserError
from pipeline.warehouse import export_formats
from pipeline.warehouse.database import faults_named
from pipeline.warehouse.export_formats import Column, Format
from pipeline.warehouse.tables.metadata import SCHEMA

Progress = Callable[[int, int], None]  # rows written, rows expected (the planner's estimate)
Where = Mapping[str, Sequence[str]]  # column or word -> values, any of which will do
WORDS: dict[str, tuple[str, ...]] = {  # what a person says -> the columns that may hold it
    "sweep": ("sweep_id",),
    "block": ("block_id",),
    "cell": ("cell_id",),
    "series": ("series_id",),
    "version": ("engine_version", "version", "engine_id"),
    "engine": ("engine_id",),
    "hardware": ("hardware_id", "hardware_label", "label"),
    "target": ("target", "target_name"),
    "method": ("method_name", "method", "method_id"),
    "workload": ("workload", "workload_id"),
}
_UNIT_IN_COMMENT = re.compile(r"\[([^\]]+)\]")
_UNITS = {  # by the end of a column's name, the longest first
    "_tokens_per_s": "tokens/s",
    "_requests_per_s": "requests/s",
    "_per_s": "1/s",
    "_ns": "ns",
    "_ms": "ms",
    "_s": "s",
    "_bytes": "bytes",
    "_joules": "J",
    "_tokens": "tokens",
}


@dataclass(frozen=True, slots=True)
class Exportable:
    """A table or view that this role may read."""

    name: str
    kind: Literal["table", "view"]
    comment: str


def exportables(engine: Engine) -> list[Exportable]:
    """Return what can be exported, views first: the questions, then what they are made of."""
    with _snapshot(engine) as connection:
        return _exportables(connection)


def export(
    engine: Engine, name: str, sink: BinaryIO, *, form: Format, where: Where | None = None, progress: Progress
) -> int:
    """Write table or view `name` to `sink`; return the number of rows.

    Raises UserError for an unknown name, naming the nearest, and for a `where` that it cannot answer.
    """
    with _snapshot(engine) as connection:
        return _export(connection, name, sink, form=form, where=where or {}, progress=progress)


def export_all(
    engine: Engine, sink_of: Callable[[str], Any], *, form: Format, progress: Callable[[str], Progress]
) -> dict[str, int]:
    """Write everything in one snapshot; `sink_of(name)` is a context with a file to write to. Return rows by name."""
    with _snapshot(engine) as connection:
        rows: dict[str, int] = {}
        for thing in _exportables(connection):
            with sink_of(thing.name) as sink:
                rows[thing.name] = _export(
                    connection, thing.name, sink, form=form, where={}, progress=progress(thing.name)
                )
        return rows


def unit_of(name: str, comment: str | None) -> str | None:
    """Return the unit of a column: what its comment says in brackets, or what the end of its name says."""
    if comment and (said := _UNIT_IN_COMMENT.search(comment)):
        return said.group(1)
    return next((unit for end, unit in _UNITS.items() if f"_{name}".endswith(end)), None)


def nearest(word: str, among: Sequence[str]) -> str:
    """Return `, did you mean X?`, or a list of all that there is."""
    close = get_close_matches(word, among, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(among)}."


@contextmanager
def _snapshot(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    """Yield a read-only transaction that sees one state of the database, however long the reader takes."""
    with faults_named(engine), engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that open_warehouse takes
        with driver.transaction():
            driver.execute("set transaction isolation level repeatable read, read only")
            driver.execute("set local statement_timeout = 0")
            driver.execute("set local idle_in_transaction_session_timeout = 0")
            yield driver


def _exportables(connection: psycopg.Connection[Any]) -> list[Exportable]:
    found = connection.execute(
        "select c.relname, c.relkind in ('v', 'm'), coalesce(obj_description(c.oid, 'pg_class'), '') "
        "from pg_class as c where c.relnamespace = cast(%s as text)::regnamespace "
        "and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition and c.relname <> 'alembic_version' "
        "and has_table_privilege(c.oid, 'select') order by c.relkind not in ('v', 'm'), c.relname",
        (SCHEMA,),
    )
    return [Exportable(name, "view" if view else "table", comment) for name, view, comment in found]


def _export(
    connection: psycopg.Connection[Any], name: str, sink: BinaryIO, *, form: Format, where: Where, progress: Progress
) -> int:
    things = {thing.name: thing for thing in _exportables(connection)}
    if name not in things:
        message = f"The warehouse has no table or view {name!r}: {nearest(name, list(things))}"
        raise UserError(message)
    columns = _columns(connection, name)
    query = _select(name, columns, where=where)
    try:
        expected = _expected(connection, query)
    except psycopg.errors.DataError as error:
        message = f"--where does not fit {name}: {str(error).splitlines()[0]}"
        raise UserError(message) from error
    write = {
        "csv": export_formats.write_csv,
        "json": export_formats.write_json,
        "parquet": export_formats.write_parquet,
    }
    return write[form](
        connection,
        query,
        sink,
        columns=columns,
        about={"name": name, "comment": things[name].comment},
        progress=lambda rows: progress(rows, max(rows, expected)),
    )


def _columns(connection: psycopg.Connection[Any], name: str) -> list[Column]:
    """Return the columns of a table or view; one without a comment has that of the tables' column of its name.

    A view's `ttft_mean_ms` means what the catalogue says; where tables differ about a name, nothing is said.
    """
    found = connection.execute(
        "with said as ("
        "select a.attname, min(d.description) as comment from pg_attribute as a "
        "inner join pg_class as c on a.attrelid = c.oid and c.relkind in ('r', 'p') and not c.relispartition "
        "inner join pg_description as d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid "
        "and d.objsubid = a.attnum where c.relnamespace = cast(%(schema)s as text)::regnamespace "
        "group by a.attname having count(distinct d.description) = 1) "
        "select a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(a.attrelid, a.attnum), "
        "said.comment) from pg_attribute as a left join said on a.attname = said.attname "
        "where a.attrelid = format('%%I.%%I', %(schema)s::text, %(name)s::text)::regclass "
        "and a.attnum > 0 and not a.attisdropped order by a.attnum",
        {"schema": SCHEMA, "name": name},
    )
    return [
        Column(column, type_name, comment, METRICS[column].unit if column in METRICS else unit_of(column, comment))
        for column, type_name, comment in found
    ]


def _select(name: str, columns: Sequence[Column], *, where: Where) -> sql.Composed:
    names = sql.SQL(", ").join(sql.Identifier(column.name) for column in columns)
    statement = sql.SQL("select {} from {}").format(names, sql.Identifier(SCHEMA, name))
    if not where:
        return statement
    types = {column.name: column.type_name for column in columns}
    conditions = [_condition(name, word, values, types=types) for word, values in where.items()]
    return statement + sql.SQL(" where ") + sql.SQL(" and ").join(conditions)


def _condition(name: str, word: str, values: Sequence[str], *, types: Mapping[str, str]) -> sql.Composed:
    held = [column for column in WORDS.get(word, (word,)) if column in types]
    if word in types and word not in held:
        held = [word]
    if not held:
        words = sorted(known for known, names in WORDS.items() if set(names) & set(types))
        message = f"{name} cannot be asked for {word!r}: {nearest(word, [*words, *types])}"
        raise UserError(message)
    any_of = [
        sql.SQL("{} = cast({} as {})").format(sql.Identifier(column), sql.Literal(value), sql.SQL(types[column]))
        for column in held
        for value in values
    ]
    return sql.SQL("({})").format(sql.SQL(" or ").join(any_of))


def _expected(connection: psycopg.Connection[Any], query: sql.Composed) -> int:
    """Return how many rows the planner expects. Raises DataError when a value is not of its column's type."""
    row = connection.execute(sql.SQL("explain (format json) ") + query).fetchone()
    assert row is not None  # noqa: S101 - explain gives one row
    return int(row[0][0]["Plan"]["Plan Rows"])
