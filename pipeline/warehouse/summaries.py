"""Keep the summaries of a sweep (aa_pair, cell_result, sweep_result) as its measurements and verdicts are written.

The select of each lies in sql/summaries; rows that come out alike are not written again.
"""
# ruff: noqa: S608 - every name in these statements comes from our own tables and files; every value is bound

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, text

from pipeline.warehouse.tables import AaPair, CellResult, Row, SweepResult
from pipeline.warehouse.upsert import key_of, on_conflict, same_row

SUMMARIES = Path(__file__).resolve().parents[2] / "sql" / "summaries"
_KEPT_APART = frozenset({"latest", "stands_for_release", "newest_engine"})  # depend on other sweeps
_LOCK = "select pg_advisory_xact_lock(hashtextextended('warehouse summaries', 0))"


def summarize(connection: Connection, sweep_id: str, *, blocks: Iterable[str] = ()) -> None:
    """Bring the summaries of a sweep up to date, and the A/A pairs of `blocks`, whose requests must be there.

    Last in a transaction: until its end nobody else summarizes, so that each sees what the others published.
    """
    connection.execute(text(_LOCK))
    bound: dict[str, Any] = {"sweep_id": sweep_id}
    bound["sweep_date"] = connection.execute(
        text("select sweep_date from warehouse.sweep where sweep_id = :sweep_id"), bound
    ).scalar_one_or_none()
    for block_id in blocks:
        _write(connection, AaPair, bound | {"block_id": block_id}, scope=("sweep_id", "block_id"))
    cells = _cells(connection, bound)
    _write(connection, CellResult, bound, scope=("sweep_id",))
    cells |= _cells(connection, bound)
    mark_latest(connection, cells)
    _write(connection, SweepResult, bound, scope=("sweep_id",))


def mark_latest(connection: Connection, cells: Iterable[str]) -> None:
    """Mark which sweeps of these cells are the latest, stand for their release, and are of their newest release."""
    for name in ("latest", "newest"):
        connection.execute(text(_select(name)), {"cells": sorted(cells)})


def summarize_what_is_not(connection: Connection) -> None:
    """Summarize the sweeps that were loaded by a release without summaries."""
    found = connection.execute(
        text(
            "select b.sweep_id, array_agg(b.block_id) as blocks from warehouse.block as b "
            "where not exists (select 1 from warehouse.sweep_result as r where r.sweep_id = b.sweep_id) "
            "group by b.sweep_id"
        )
    ).all()
    for sweep_id, blocks in found:
        summarize(connection, sweep_id, blocks=blocks)


def _cells(connection: Connection, bound: dict[str, Any]) -> set[str]:
    found = connection.execute(text("select cell_id from warehouse.cell_result where sweep_id = :sweep_id"), bound)
    return set(found.scalars())


def _select(name: str) -> str:
    return (SUMMARIES / f"{name}.sql").read_text(encoding="utf-8").rstrip().removesuffix(";")


def _write(connection: Connection, model: type[Row], bound: dict[str, Any], *, scope: tuple[str, ...]) -> None:
    connection.execute(text(_statement(model.table(), scope=scope)), bound)


def _statement(table: Table, *, scope: tuple[str, ...]) -> str:
    """Return SQL that makes the table's rows in `scope` what the select says: no more, no fewer, no other."""
    columns = [column.name for column in table.columns if column.name not in _KEPT_APART]
    key = key_of(table)
    there = " and ".join(f"t.{name} = :{name}" for name in scope)
    found = " and ".join(f"f.{name} = t.{name}" for name in key)
    return (
        f"with found as materialized ({_select(table.name)}), "
        f"gone as (delete from {table.fullname} as t where {there} "
        f"and not exists (select 1 from found as f where {found})) "
        f"insert into {table.fullname} ({', '.join(columns)}) "
        f"select {', '.join(f'f.{name}' for name in columns)} from found as f "
        f"where not exists (select 1 from {table.fullname} as t where {same_row(table, columns, 'f')}) "
        f"order by {', '.join(f'f.{name}' for name in key)} {on_conflict(table, columns)}"
    )
