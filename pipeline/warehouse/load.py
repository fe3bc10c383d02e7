"""Stage a block's run directory: everything it brought, under a load id, committed so that the gate can see it.

`pipeline.warehouse.publish` then publishes or quarantines the load.
"""

import math
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import Connection, Engine, text

from pipeline.domain.block import Block, CellOutcome, Interruption
from pipeline.domain.catalogue import CATALOGUE
from pipeline.domain.hardware import Hardware
from pipeline.domain.measurement import AcceptancePosition, Measurement, RepetitionKey
from pipeline.domain.model import ResolvedModel
from pipeline.domain.request import RequestRow
from pipeline.domain.server_start import ServerStart
from pipeline.domain.telemetry import TelemetryRow
from pipeline.domain.workload import Workload
from pipeline.warehouse import rows
from pipeline.warehouse.database import faults_named

KEY_COLUMNS = tuple(field.name for field in fields(RepetitionKey))
METRIC_COLUMNS = tuple(metric.name for metric in CATALOGUE)
POSITION_COLUMNS = ("draft_position", "accepted", "drafts", "unconditional", "conditional")
REQUEST_COLUMNS = tuple(field.name for field in fields(RequestRow))
_key = attrgetter(*KEY_COLUMNS)
_position = attrgetter(*POSITION_COLUMNS)
TELEMETRY_COLUMNS = tuple(field.name for field in fields(TelemetryRow))
_request = attrgetter(*REQUEST_COLUMNS)
_telemetry = attrgetter(*TELEMETRY_COLUMNS)


@dataclass(frozen=True, slots=True)
class BlockLoad:
    """What one block's run directory says. `requests` is read once, so that a night need not fit in memory."""

    block: Block
    hardware: Hardware
    models: tuple[ResolvedModel, ...]  # target and drafts
    workloads: tuple[Workload, ...]
    starts: tuple[ServerStart, ...]  # every attempt, failed ones too
    outcomes: tuple[CellOutcome, ...]  # of every planned cell in every planned start, and of skipped cells
    measurements: tuple[Measurement, ...]
    acceptance: tuple[AcceptancePosition, ...]
    requests: Iterable[tuple[RepetitionKey, RequestRow]]
    directory: str  # where it was read from
    completed_at: str | None = None  # ISO 8601, UTC; None while the block is unfinished
    interruptions: tuple[Interruption, ...] = ()
    telemetry: tuple[tuple[RepetitionKey, TelemetryRow], ...] = ()  # a row for ten seconds: few enough to hold


def stage(engine: Engine, load: BlockLoad) -> str:
    """Copy `load` into the staging schema, commit, and return its load id. Publishes nothing.

    Raises UserError when a prompt set is missing, EnvironmentFault when the database is down or full.
    """
    rows.require_workloads(load.block, load.workloads)
    load_id = uuid.uuid4().hex
    with faults_named(engine), engine.begin() as connection:
        connection.execute(
            text(
                "insert into warehouse.load (load_id, sweep_id, block_id, state, created_at, rows, directory) "
                "values (:load_id, :sweep_id, :block_id, 'staged', now(), 0, :directory)"
            ),
            {
                "load_id": load_id,
                "sweep_id": load.block.sweep.sweep_id,
                "block_id": load.block.block_id,
                "directory": load.directory,
            },
        )
        copied = _copy_everything(connection, load_id, load)
        connection.execute(
            text("update warehouse.load set rows = :rows where load_id = :load_id"),
            {"rows": copied, "load_id": load_id},
        )
    return load_id


def _copy_everything(connection: Connection, load_id: str, load: BlockLoad) -> int:
    """Copy documents and the large tables' rows; return how many rows of the latter there were."""
    _copy(connection, "document", ("table_name", "ordinal", "document"), _document_rows(load), load_id=load_id)
    measured = ("position", "hardware_id", "started_at", "faults", *METRIC_COLUMNS)
    return sum(
        _copy(connection, table, (*KEY_COLUMNS, *columns), values, load_id=load_id)
        for table, columns, values in (
            ("measurement", measured, _measurement_rows(load)),
            ("acceptance_position", POSITION_COLUMNS, _position_rows(load)),
            ("request", ("sweep_date", *REQUEST_COLUMNS), _request_rows(load)),
            ("telemetry", TELEMETRY_COLUMNS, _telemetry_rows(load)),
        )
    )


def _copy(
    connection: Connection, table: str, columns: Sequence[str], values: Iterable[tuple[Any, ...]], *, load_id: str
) -> int:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - a checked-out connection has one
    count = 0
    statement = f"copy staging.{table} (load_id, {', '.join(columns)}) from stdin"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for value in values:
            copy.write_row((load_id, *value))
            count += 1
    return count


def _document_rows(load: BlockLoad) -> Iterator[tuple[Any, ...]]:
    """Yield (table, ordinal, row), parents before children, keys in order so that two loaders lock alike."""
    block = load.block
    cells = rows.cells_of(block)
    methods = {cell.method.method_id: cell.method for cell in cells}
    documents: dict[str, Iterable[rows.Row]] = {
        "engine": [rows.engine_row(block.engine)],
        "hardware": [rows.hardware_row(load.hardware)],
        "model": [rows.model_row(model) for model in load.models],
        "method": [rows.method_row(method) for method in methods.values()],
        "workload": [rows.workload_row(workload) for workload in load.workloads],
        "cell": [rows.cell_row(cell) for cell in cells],
        "sweep": [rows.sweep_row(block)],
        "block": [
            rows.block_row(
                block,
                hardware=load.hardware,
                models=load.models,
                completed_at=load.completed_at,
                interruptions=load.interruptions,
            )
        ],
        "block_model": [rows.block_model_row(block, model) for model in load.models],
        "server_start": [rows.server_start_row(block, start) for start in load.starts],
        "cell_outcome": [rows.outcome_row(block, outcome) for outcome in load.outcomes],
    }
    for table, entries in documents.items():
        for ordinal, row in enumerate(entries):
            yield table, ordinal, Jsonb(row)


def _measurement_rows(load: BlockLoad) -> Iterator[tuple[Any, ...]]:
    hardware_id = load.hardware.hardware_id
    for measurement in load.measurements:
        metrics = tuple(_finite(measurement.metrics.get(name), name, measurement.key) for name in METRIC_COLUMNS)
        faults = Jsonb(list(measurement.faults))
        yield (*_key(measurement.key), measurement.position, hardware_id, measurement.started_at, faults, *metrics)


def _position_rows(load: BlockLoad) -> Iterator[tuple[Any, ...]]:
    for position in load.acceptance:
        yield (*_key(position.key), *_position(position))


def _request_rows(load: BlockLoad) -> Iterator[tuple[Any, ...]]:
    day = rows.sweep_date(load.block)
    for key, request in load.requests:
        yield (*_key(key), day, *_request(request))


def _telemetry_rows(load: BlockLoad) -> Iterator[tuple[Any, ...]]:
    for key, row in load.telemetry:
        yield (*_key(key), *_telemetry(row))


def _finite(value: float | None, name: str, key: RepetitionKey) -> float | None:
    if value is not None and not math.isfinite(value):
        message = f"{name} of {key} is {value}: undefined is None, never NaN or infinity"
        raise ValueError(message)
    return value
