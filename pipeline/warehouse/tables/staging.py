"""Staging: what a load brought, under its load id, before the gate decides. Unlogged, no constraints to hide faults."""

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from pipeline.warehouse.tables.measurements import AcceptancePosition, Measurement, Request, Telemetry
from pipeline.warehouse.tables.metadata import METADATA, STAGING_SCHEMA, Row


def _load_id() -> Column[Any]:
    return Column("load_id", Text(), nullable=False, comment="The load that brought the row.")


def _staged(model: type[Row]) -> Table:
    source = model.table()
    columns = [Column(c.name, c.type, nullable=True, comment=c.comment) for c in source.columns]
    return Table(
        source.name,
        METADATA,
        _load_id(),
        *columns,
        Index(f"{source.name}_load_id_idx", "load_id"),
        schema=STAGING_SCHEMA,
        prefixes=["UNLOGGED"],
        comment=f"Rows for warehouse.{source.name} that await the gate, or were refused by it.",
    )


STAGED: dict[str, Table] = {
    model.table().name: _staged(model) for model in (Measurement, AcceptancePosition, Request, Telemetry)
}

DOCUMENT = Table(
    "document",
    METADATA,
    _load_id(),
    Column("table_name", Text(), nullable=False, comment="The warehouse table the row is for."),
    Column("ordinal", BigInteger(), nullable=False, comment="Order inside the load and table."),
    Column("document", JSONB(), nullable=False, comment="The row, a key a column."),
    Index("document_load_id_idx", "load_id"),
    schema=STAGING_SCHEMA,
    prefixes=["UNLOGGED"],
    comment="One row a row for a small table (dimensions, sweep, block, starts, outcomes) that awaits the gate.",
)
