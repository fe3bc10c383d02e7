"""What every table shares: schema, names of constraints, and which Postgres type a Python type becomes."""

from datetime import date, datetime
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import BigInteger, Date, DateTime, Double, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

SCHEMA = "warehouse"
STAGING_SCHEMA = "staging"

METADATA = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(referred_table_name)s_fkey",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    },
)


class Row(DeclarativeBase):
    """Base of the typed models. Every class comments its table (the grain) and its columns (unit, NULL)."""

    metadata = METADATA
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        int: BigInteger(),
        float: Double(),
        datetime: DateTime(timezone=True),
        date: Date(),
        UUID: Uuid(),
        dict[str, Any]: JSONB(),
        dict[str, str]: JSONB(),
        list[str]: JSONB(),
    }

    @classmethod
    def table(cls) -> Table:
        """Return the Core table of this model."""
        table = cls.__table__
        assert isinstance(table, Table)  # noqa: S101 - every model here maps exactly one table
        return table
