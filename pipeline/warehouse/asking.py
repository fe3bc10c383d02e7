"""How a question is put: a statement with bound values, and its rows as dictionaries or as a frame."""
# ruff: noqa: S608 - names of views, columns and orders are written in the questions; every value is bound

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, text

if TYPE_CHECKING:
    import pandas as pd


def of_view(engine: Engine, view: str, order: str, **filters: str | bool | None) -> "pd.DataFrame":
    """Return all columns of a view, of the rows that match; a filter that is None is not put at all."""
    wanted = {name: value for name, value in filters.items() if value is not None}
    where = "".join(f" and v.{name} = :{name}" for name in wanted)
    ordered = ", ".join(f"v.{column}" for column in order.split(", "))
    return ask(engine, f"select v.* from warehouse.{view} as v where true{where} order by {ordered}", wanted)


def ask(engine: Engine, statement: str, bound: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Return the rows of a statement as a frame."""
    import pandas as pd

    with engine.connect() as connection:
        frame: pd.DataFrame = pd.read_sql_query(text(statement), connection, params=dict(bound or {}))
    return frame


def records(engine: Engine, statement: str, bound: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a statement as dictionaries."""
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(statement), bound or {}).mappings()]
