"""Write what analysis found: speedups and verdicts of one sweep, in place of what it had found before."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, tuple_
from sqlalchemy.dialects.postgresql import insert

from pipeline.domain.verdict import Speedup, Verdict
from pipeline.warehouse.summaries import summarize
from pipeline.warehouse.tables import Row
from pipeline.warehouse.tables import Speedup as SpeedupRow
from pipeline.warehouse.tables import Verdict as VerdictRow


def write_derived(engine: Engine, sweep_id: str, *, speedups: Sequence[Speedup], verdicts: Sequence[Verdict]) -> None:
    """Upsert the speedups and verdicts of `sweep_id` in one transaction; remove those that are no longer found."""
    speedup_rows = [_row(speedup) for speedup in speedups]
    verdict_rows = [_row(verdict) | {"reasons": list(verdict.reasons)} for verdict in verdicts]
    with engine.begin() as connection:
        _replace(connection, SpeedupRow, sweep_id, speedup_rows)
        _replace(connection, VerdictRow, sweep_id, verdict_rows)
        summarize(connection, sweep_id)


def _row(value: Speedup | Verdict) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _replace(connection: Connection, model: type[Row], sweep_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = model.table()
    key = list(table.primary_key.columns)
    found = [tuple(row[column.name] for column in key) for row in rows]
    gone = delete(table).where(table.c.sweep_id == sweep_id)
    connection.execute(gone.where(tuple_(*key).not_in(found)) if found else gone)
    if not rows:
        return
    statement = insert(table)
    names = [column.name for column in table.columns if not column.primary_key and column.name != "computed_at"]
    changes = {name: statement.excluded[name] for name in names} | {"computed_at": func.now()}
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changes), list(rows))
