"""sql/checks: no row on good data, a row for each fault."""

import pytest
from sqlalchemy import Engine, text

from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import SQL
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build

ARM = build.cell().cell_id
BASE = build.cell(build.BASE).cell_id
CHECKS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SQL / "checks").glob("*.sql"))}
FAULTS = {
    "acceptance_grows_with_position": "update warehouse.acceptance_position set accepted = 5 where draft_position = 3",
    "duplicate_dimension": "update warehouse.hardware set name = 'x', host_cpu = 'x', label = 'x', logical_cpus = 1, "
    "architecture = null, memory_bytes = null where hardware_id <> 'other'",
    "latest_not_once": "update warehouse.cell_result set latest = false",
    "summary_apart_from_its_data": "update warehouse.cell_result set repetitions = repetitions + 1",
    "verdict_of_a_cell_not_measured": "update warehouse.cell_result set status = 'failed'",
    "acceptance_out_of_range": "update warehouse.measurement set accepted_tokens = 99 where drafts is not null",
    "orphan_measurement": "delete from warehouse.cell_outcome where start_index = 1",
    "overlapping_server_starts": (
        "update warehouse.server_start set started_at = timestamptz '2026-01-01 02:00:01+00' where start_index = 1"
    ),
    "measurement_off_its_block": "update warehouse.measurement set hardware_id = 'other' where position = 'closing'",
    "request_outside_its_month": (
        "update warehouse.request set sweep_date = date '2026-01-02' where request_index = 0 and start_index = 1"
    ),
    "speedup_without_baseline": f"delete from warehouse.measurement where cell_id = '{BASE}'",
    "verdict_older_than_its_data": "update warehouse.verdict set computed_at = computed_at - interval '1 day'",
    "verdict_without_its_speedup": "delete from warehouse.speedup",
}


@pytest.fixture
def engine(rolled_back: Engine) -> Engine:
    engine = rolled_back
    publish(engine, stage(engine, build.block_load()))
    write_derived(engine, "s1", speedups=[build.speedup(ARM)], verdicts=[build.verdict(ARM)])
    return engine


def failing(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return {name for name, check in CHECKS.items() if connection.execute(text(check)).all()}


def test_good_data_passes_every_check(engine: Engine) -> None:
    assert failing(engine) == set()


def test_every_check_has_a_fault_that_it_finds() -> None:
    assert set(FAULTS) == set(CHECKS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_check_finds_its_fault(engine: Engine, name: str) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "insert into warehouse.hardware (hardware_id, kind, name, accelerators, host_cpu, logical_cpus, label) "
                "values ('other', 'cpu', 'x', 0, 'x', 1, 'x')"
            )
        )
        connection.execute(text(FAULTS[name]))
    assert name in failing(engine)
