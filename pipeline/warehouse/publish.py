"""Decide a staged load: publish it, all but some cells of it, or none; and reap loads whose loader died.

Each decision is one transaction. Publishing is an upsert on natural keys that rewrites only what differs: the same run
directory twice changes nothing.
"""
# ruff: noqa: S608 - every name in these statements comes from our own tables; every value is bound

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text

from pipeline.domain.validation import ValidationOutcome
from pipeline.errors import EnvironmentFault, UserError
from pipeline.warehouse.partitions import ensure_partitions
from pipeline.warehouse.summaries import summarize
from pipeline.warehouse.tables import (
    STAGED,
    AcceptancePosition,
    Block,
    BlockModel,
    Cell,
    CellOutcome,
    Hardware,
    Measurement,
    Method,
    Model,
    Request,
    Row,
    ServerStart,
    Sweep,
    Telemetry,
    Workload,
)
from pipeline.warehouse.tables import Engine as EngineRow
from pipeline.warehouse.upsert import delete_gone, insert_staged, is_there, upsert_documents, upsert_staged

_SMALL: tuple[type[Row], ...] = (  # parents before children
    EngineRow,
    Hardware,
    Model,
    Method,
    Workload,
    Cell,
    Sweep,
    Block,
    BlockModel,
    ServerStart,
    CellOutcome,
)
_LARGE: tuple[type[Row], ...] = (Measurement, AcceptancePosition, Request, Telemetry)
_SWEEP_DATE = (
    "select cast(document ->> 'sweep_date' as date) from staging.document "
    "where load_id = :load_id and table_name = 'sweep'"
)


def publish(engine: Engine, load_id: str, *, quarantined: Mapping[str, str] | None = None) -> None:
    """Publish a staged load, except the measurements of the cells in `quarantined` (cell id -> reason).

    Those cells get an outcome `quarantined` with their reason and keep their staged rows. What an earlier load of the
    same block had published and this one does not hold is removed. Publishing a published load again does nothing.
    Raises UserError when the load was already decided otherwise, EnvironmentFault when its staged rows were lost.
    """
    _make_room(engine, load_id)
    with engine.begin() as connection:
        load = _claim(connection, load_id, done="published")
        if load is not None:
            _publish(connection, load, quarantined or {})
            _decide(connection, load_id, state="published", reason=None)


def quarantine_load(engine: Engine, load_id: str, reason: str) -> None:
    """Publish none of a staged load's measurements: each measured cell gets the outcome `quarantined` and `reason`."""
    _make_room(engine, load_id)
    with engine.begin() as connection:
        load = _claim(connection, load_id, done="quarantined")
        if load is not None:
            measured = connection.execute(
                text(
                    "select distinct document ->> 'cell_id' from staging.document "
                    "where load_id = :load_id and table_name = 'cell_outcome' and document ->> 'status' = 'measured'"
                ),
                {"load_id": load_id},
            ).scalars()
            _publish(connection, load, dict.fromkeys(measured, reason))
            _decide(connection, load_id, state="quarantined", reason=reason)


def reap(engine: Engine, *, older_than: timedelta) -> list[str]:
    """Abandon loads that have stayed undecided for longer than `older_than`, drop their rows; return their ids."""
    with engine.begin() as connection:
        reaped = connection.execute(
            text(
                "update warehouse.load set state = 'abandoned', decided_at = now() "
                "where state = 'staged' and created_at < now() - :older_than returning load_id"
            ),
            {"older_than": older_than},
        ).scalars()
        load_ids = list(reaped)
        for name in ("document", *STAGED):
            connection.execute(
                text(f"delete from staging.{name} where load_id = any(:load_ids)"), {"load_ids": load_ids}
            )
    return load_ids


def record_validation(engine: Engine, load_id: str, outcomes: Sequence[ValidationOutcome]) -> None:
    """Keep what the gate said of a load, in place of what it said before."""
    statement = text(
        "insert into warehouse.validation_result "
        "(load_id, expectation, subject, success, severity, observed, details, cell_ids) values "
        "(:load_id, :expectation, :subject, :success, :severity, cast(:observed as jsonb), :details, "
        "cast(:cell_ids as jsonb))"
    )
    values = [
        {
            "load_id": load_id,
            "expectation": outcome.expectation,
            "subject": outcome.subject,
            "success": outcome.success,
            "severity": outcome.severity,
            "observed": json.dumps(dict(outcome.observed)),
            "details": outcome.details,
            "cell_ids": json.dumps(list(outcome.cell_ids)),
        }
        for outcome in outcomes
    ]
    with engine.begin() as connection:
        connection.execute(
            text("delete from warehouse.validation_result where load_id = :load_id"), {"load_id": load_id}
        )
        if values:
            connection.execute(statement, values)


def _make_room(engine: Engine, load_id: str) -> None:
    """Make the partition that the load's requests go to, in a transaction of its own: others wait for its end."""
    with engine.begin() as connection:
        day = connection.execute(text(_SWEEP_DATE), {"load_id": load_id}).scalar_one_or_none()
        ensure_partitions(connection, [day] if day else [])


def _claim(connection: Connection, load_id: str, *, done: str) -> dict[str, Any] | None:
    """Lock the load and its block; return the load, or None when it is `done` already."""
    found = connection.execute(
        text("select load_id, sweep_id, block_id, state, rows from warehouse.load where load_id = :id for update"),
        {"id": load_id},
    ).one_or_none()
    if found is None:
        message = f"Load {load_id} is not known to this warehouse. Ingest the run directory again."
        raise UserError(message)
    if found.state == done:
        return None
    if found.state != "staged":
        message = f"Load {load_id} is already {found.state}. Ingest the run directory again for a new load."
        raise UserError(message)
    connection.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:block, 0))"),
        {"block": f"{found.sweep_id}/{found.block_id}"},
    )
    counts = " + ".join(f"(select count(*) from staging.{name} where load_id = :id)" for name in STAGED)
    if connection.execute(text(f"select {counts}"), {"id": load_id}).scalar_one() != found.rows:
        message = (
            f"The staged rows of load {load_id} are gone: the database went down in between. "
            "Nothing was published; ingest the run directory again."
        )
        raise EnvironmentFault(message)
    return dict(found._mapping)  # noqa: SLF001 - public in SQLAlchemy: the underscore keeps it apart from columns


def _publish(connection: Connection, load: Mapping[str, Any], quarantined: Mapping[str, str]) -> None:
    bound = {
        "load_id": load["load_id"],
        "sweep_id": load["sweep_id"],
        "block_id": load["block_id"],
        "sweep_date": connection.execute(text(_SWEEP_DATE), {"load_id": load["load_id"]}).scalar_one(),
        "cells": list(quarantined),
        "reasons": json.dumps(dict(quarantined)),
    }
    _require_same_day(connection, bound)
    _mark_quarantined(connection, bound)
    for model in _SMALL:
        connection.execute(text(upsert_documents(model.table())), bound)
    there = [model for model in _LARGE if connection.execute(text(is_there(model.table())), bound).scalar_one()]
    _remove_what_is_gone(connection, there, bound)
    for model in _LARGE:
        move = upsert_staged if model in there else insert_staged
        connection.execute(text(move(model.table())), bound)
    for name in STAGED:
        keep = "load_id = :load_id and not cell_id = any(:cells)"
        connection.execute(text(f"delete from staging.{name} where {keep}"), bound)
    connection.execute(text("delete from staging.document where load_id = :load_id"), bound)
    summarize(connection, bound["sweep_id"], blocks=[bound["block_id"]])


def _require_same_day(connection: Connection, bound: Mapping[str, Any]) -> None:
    """Refuse a sweep that is here under another date: its requests would be there twice, in two partitions."""
    there = connection.execute(
        text("select sweep_date from warehouse.sweep where sweep_id = :sweep_id and sweep_date <> :sweep_date"), bound
    ).scalar_one_or_none()
    if there is not None:
        message = (
            f"Sweep {bound['sweep_id']} is in the warehouse as of {there}, and this run directory says "
            f"{bound['sweep_date']}: they are two sweeps under one id. Give one of them another id."
        )
        raise UserError(message)


def _mark_quarantined(connection: Connection, bound: Mapping[str, Any]) -> None:
    connection.execute(
        text(
            "update staging.document set document = document || jsonb_build_object("
            "'status', 'quarantined', 'reason', cast(:reasons as jsonb) ->> (document ->> 'cell_id')) "
            "where load_id = :load_id and table_name = 'cell_outcome' "
            "and document ->> 'status' = 'measured' and document ->> 'cell_id' = any(:cells)"
        ),
        bound,
    )


def _remove_what_is_gone(connection: Connection, there: Sequence[type[Row]], bound: Mapping[str, Any]) -> None:
    """Remove what an earlier load of this block published and this one does not hold, and what was drawn from it."""
    for model in there:
        connection.execute(text(delete_gone(model.table())), bound)
    connection.execute(
        text(
            "delete from warehouse.cell_outcome as t where t.sweep_id = :sweep_id and t.block_id = :block_id "
            "and not exists ("
            "select 1 from staging.document as s where s.load_id = :load_id and s.table_name = 'cell_outcome' "
            "and (s.document ->> 'start_index')::bigint = t.start_index and s.document ->> 'cell_id' = t.cell_id)"
        ),
        bound,
    )
    for derived in ("verdict", "speedup"):
        connection.execute(
            text(
                f"delete from warehouse.{derived} as t using warehouse.cell as c "
                "where t.cell_id = c.cell_id and t.sweep_id = :sweep_id "
                "and (c.cell_id = any(:cells) or c.baseline_cell_id = any(:cells))"
            ),
            bound,
        )


def _decide(connection: Connection, load_id: str, *, state: str, reason: str | None) -> None:
    connection.execute(
        text("update warehouse.load set state = :state, reason = :reason, decided_at = now() where load_id = :id"),
        {"state": state, "reason": reason, "id": load_id},
    )
