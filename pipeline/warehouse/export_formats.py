"""How rows become a file: CSV by COPY, JSON lines, typed Parquet in row groups. NULL stays NULL in all of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["csv", "json", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "json", "parquet")
ROWS_A_GROUP = 20_000  # of Parquet, and of one fetch: about 20 MB of the widest table
_ARROW: dict[str, Callable[[Any], "pa.DataType"]] = {  # by Postgres type; everything else is read as text
    "bigint": lambda pa: pa.int64(),
    "integer": lambda pa: pa.int32(),
    "smallint": lambda pa: pa.int16(),
    "double precision": lambda pa: pa.float64(),
    "real": lambda pa: pa.float32(),
    "boolean": lambda pa: pa.bool_(),
    "date": lambda pa: pa.date32(),
    "timestamp with time zone": lambda pa: pa.timestamp("us", tz="UTC"),
    "text[]": lambda pa: pa.list_(pa.string()),
    "text": lambda pa: pa.string(),
}
Rows = Callable[[int], None]  # told how many rows are written


@dataclass(frozen=True, slots=True)
class Column:
    """A column and what is known of it."""

    name: str
    type_name: str  # as Postgres formats it: double precision
    comment: str | None
    unit: str | None


def write_csv(
    connection: psycopg.Connection[Any],
    query: sql.Composed,
    sink: BinaryIO,
    *,
    columns: Sequence[Column],
    about: Mapping[str, str],
    progress: Rows,
) -> int:
    """Write a header and a line a row. NULL is an empty field, an empty text is a quoted one."""
    del columns, about  # a CSV file has no room for them
    statement = sql.SQL("copy ({}) to stdout with (format csv, header)").format(query)
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for lines, block in enumerate(copy):  # one a row, after the header
                sink.write(block)
                if lines % ROWS_A_GROUP == 0:
                    progress(lines)
        progress(cursor.rowcount)
        return cursor.rowcount


def write_json(
    connection: psycopg.Connection[Any],
    query: sql.Composed,
    sink: BinaryIO,
    *,
    columns: Sequence[Column],
    about: Mapping[str, str],
    progress: Rows,
) -> int:
    """Write an object a line, as Postgres makes it: numbers in full, JSON columns as they are, times in ISO 8601."""
    del columns, about
    rows = 0
    statement = sql.SQL("select to_json(row_of)::text from ({}) as row_of").format(query)
    for batch in _batches(connection, statement):
        sink.write("".join(f"{line}\n" for (line,) in batch).encode())
        rows += len(batch)
        progress(rows)
    return rows


def write_parquet(
    connection: psycopg.Connection[Any],
    query: sql.Composed,
    sink: BinaryIO,
    *,
    columns: Sequence[Column],
    about: Mapping[str, str],
    progress: Rows,
) -> int:
    """Write typed columns, zstd, a row group for every 20,000 rows; comments and units are metadata of the fields.

    numeric becomes a double, JSON a text of JSON.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema(columns, about=about)
    read = sql.SQL(", ").join(
        sql.SQL("cast({} as {})").format(sql.Identifier(c.name), sql.SQL(_read_as(c.type_name))) for c in columns
    )
    statement = sql.SQL("select {} from ({}) as row_of").format(read, query)
    rows = 0
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in _batches(connection, statement):
            arrays = [pa.array(values, type=f.type) for values, f in zip(zip(*batch, strict=True), schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(batch)
            progress(rows)
    return rows


WRITERS = {"csv": write_csv, "json": write_json, "parquet": write_parquet}


def arrow_schema(columns: Sequence[Column], *, about: Mapping[str, str]) -> "pa.Schema":
    """Return the Arrow schema of columns, with comment and unit of each, and of the whole."""
    import pyarrow as pa

    fields = []
    for column in columns:
        told = {"comment": column.comment, "unit": column.unit, "postgres_type": column.type_name}
        metadata = {key: value for key, value in told.items() if value}
        fields.append(pa.field(column.name, _ARROW[_read_as(column.type_name)](pa), metadata=metadata))
    return pa.schema(fields, metadata={"specwatch": json.dumps(dict(about))})


def _read_as(type_name: str) -> str:
    if type_name.partition("(")[0] == "numeric":
        return "double precision"
    return type_name if type_name in _ARROW else "text"


def _batches(connection: psycopg.Connection[Any], statement: sql.Composed) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows as the server makes them, `ROWS_A_GROUP` at a time."""
    with connection.cursor(name="export") as cursor:
        cursor.itersize = ROWS_A_GROUP
        cursor.execute(statement)
        while batch := cursor.fetchmany(ROWS_A_GROUP):
            yield batch
