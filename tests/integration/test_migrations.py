"""A database of the first release comes to this one with every row."""
# ruff: noqa: E501 - statements of the first release, as long as they are

from collections.abc import Iterator

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, text

from pipeline.system import postgres
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import alembic_config, migrate
from tests.support import warehouse as build

FIRST_RELEASE = "0001"
ARM, BASE = build.cell().cell_id, build.cell(build.BASE).cell_id
CELL = (
    "insert into warehouse.cell (cell_id, series_id, baseline_cell_id, engine_id, target_name, weights, method_id, "
    "method_name, workload_id, prompts, output_tokens, temperature, concurrency, seed, server) values "
)
FIXED = (
    "insert into warehouse.engine values ('e', '0.32.0', 'cpu', 'x')",
    (
        "insert into warehouse.hardware (hardware_id, kind, name, accelerators, host_cpu, logical_cpus, label) values "
        "('h', 'cpu', 'x', 0, 'x', 1, 'x'), ('other', 'cpu', 'y', 0, 'y', 1, 'y')"
    ),
    (
        "insert into warehouse.method (method_id, name, method, acceptance, options) values "
        "('n', 'none', 'none', 'none', '{}'), ('g', 'ngram', 'ngram', 'real', '{}')"
    ),
    "insert into warehouse.workload values ('w', 'w', 'c', 'h', 'd', 2)",
    CELL + f"('{BASE}', 's', '{BASE}', 'e', 't', 'real', 'n', 'none', 'w', 2, 10, 0, 1, 0, '{{}}')",
    CELL + f"('{ARM}', 's', '{BASE}', 'e', 't', 'real', 'g', 'ngram', 'w', 2, 10, 0, 1, 0, '{{}}')",
)
NIGHT = (
    "insert into warehouse.sweep values (:sweep, 'smoke', 'x', :planned_at, 'test')",
    (
        "insert into warehouse.block (sweep_id, block_id, engine_id, hardware_id, repetitions, interruptions, reopened) "
        "values (:sweep, 'b', 'e', 'h', 1, 0, 0)"
    ),
    (
        "insert into warehouse.server_start (sweep_id, block_id, start_index, attempt, position, method_name, method_id, "
        "started_at, warnings, argv, environment) "
        "values (:sweep, 'b', 0, 1, 'opening', 'none', 'n', :planned_at, '[]', '[]', '{}')"
    ),
    (
        "insert into warehouse.measurement (sweep_id, block_id, start_index, attempt, cell_id, repetition, position, "
        "hardware_id, started_at, requests, failed_requests, prompt_tokens, output_tokens) "
        "select :sweep, 'b', 0, 1, cell_id, 0, 'opening', 'h', :planned_at, 2, 0, 8, 20 from warehouse.cell"
    ),
    (
        "insert into warehouse.request (sweep_id, block_id, start_index, attempt, cell_id, repetition, request_index, "
        "prompt_id, seed, ttft_ms, chunks, sent_offset_ms) "
        f"select :sweep, 'b', 0, 1, '{ARM}', 0, i, 'p' || i, 0, 0.1 + i, 1, i from generate_series(0, 9) as i"
    ),
    (
        "insert into warehouse.verdict (sweep_id, cell_id, metric, margin, verdict, harmful, estimate, lower, upper, "
        f"probability_of_loss, reasons) values (:sweep, '{ARM}', 'latency_speedup', 1.05, 'worth_it', false, 2, 1.9, 2.1, "
        "0, '[]')"
    ),
)


@pytest.fixture
def engine(postgres_server: str) -> Iterator[Engine]:
    """A database at the schema of the first release, with a night in each of three months."""
    engine = open_warehouse(postgres.ensure_database(postgres_server, "first_release"))
    with engine.begin() as connection:
        connection.execute(text("create schema warehouse"))
        connection.execute(text("create schema staging"))
        command.upgrade(alembic_config(connection), FIRST_RELEASE)
        for statement in FIXED:
            connection.execute(text(statement))
        for sweep, planned_at in (("s1", "2025-12-31T23:59+00"), ("s2", "2026-01-01T00:30+01"), ("s3", "2026-03-01Z")):
            for statement in NIGHT:
                connection.execute(text(statement), {"sweep": sweep, "planned_at": planned_at})
    yield engine
    engine.dispose()
    server = open_warehouse(postgres_server).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text("drop database first_release"))
    server.dispose()


def requests(connection: Connection) -> list[tuple[object, ...]]:
    columns = "sweep_id, block_id, start_index, attempt, cell_id, repetition, request_index, prompt_id, seed, ttft_ms"
    return [tuple(row) for row in connection.execute(text(f"select {columns} from warehouse.request order by 1, 7"))]


def test_every_request_comes_along_into_the_month_of_its_sweep(engine: Engine) -> None:
    with engine.connect() as connection:
        before = requests(connection)
    migrate(engine)
    with engine.connect() as connection:
        assert requests(connection) == before
        partitions = connection.execute(
            text("select tableoid::regclass::text, count(*) from warehouse.request group by 1 order by 1")
        ).all()
        command.check(alembic_config(connection))
    # 00:30 in Berlin on New Year's Day is 23:30 UTC of the year before
    assert [tuple(row) for row in partitions] == [
        ("warehouse.request_2025_12", 20),
        ("warehouse.request_2026_03", 10),
    ]


def test_a_verdict_gets_the_hardware_of_its_measurements(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("update warehouse.measurement set hardware_id = 'other' where sweep_id = 's2' and cell_id = :arm"),
            {"arm": ARM},
        )
        connection.execute(text("delete from warehouse.measurement where sweep_id = 's3'"))
    migrate(engine)
    with engine.connect() as connection:
        found = connection.execute(text("select sweep_id, hardware_id from warehouse.verdict order by 1")).all()
    assert [tuple(row) for row in found] == [("s1", "h"), ("s2", "other")]
