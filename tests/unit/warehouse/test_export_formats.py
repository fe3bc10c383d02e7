"""Which Arrow type a Postgres type becomes."""

import json

import pytest

from pipeline.warehouse.export_formats import Column, arrow_schema


@pytest.mark.parametrize(
    ("type_name", "arrow"),
    [
        ("bigint", "int64"),
        ("double precision", "double"),
        ("numeric", "double"),
        ("numeric(10,2)", "double"),
        ("boolean", "bool"),
        ("date", "date32[day]"),
        ("timestamp with time zone", "timestamp[us, tz=UTC]"),
        ("jsonb", "string"),
        ("text[]", "list<element: string>"),
        ("interval", "string"),
    ],
)
def test_a_column_has_the_type_of_its_values(type_name: str, arrow: str) -> None:
    (field,) = arrow_schema([Column("x", type_name, None, None)], about={})
    assert str(field.type).replace("item:", "element:") == arrow


def test_comment_unit_and_what_it_is_are_metadata() -> None:
    schema = arrow_schema([Column("x_ms", "bigint", "How long.", "ms")], about={"name": "things"})
    assert schema.field("x_ms").metadata == {b"comment": b"How long.", b"unit": b"ms", b"postgres_type": b"bigint"}
    assert json.loads(schema.metadata[b"specwatch"]) == {"name": "things"}
