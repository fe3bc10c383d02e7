"""Domain values as rows: order of releases, baselines of every cell, where a fault is named."""

import psycopg
import pytest
from sqlalchemy.engine import make_url

from pipeline.domain.block import SkippedCell
from pipeline.errors import EnvironmentFault
from pipeline.warehouse.database import fault
from pipeline.warehouse.rows import block_row, cells_of, outcome_row, version_sort
from tests.support import warehouse as build

IN_ORDER = [
    "0.9.2",
    "0.10.0.dev3",
    "0.10.0a1",
    "0.10.0b1",
    "0.10.0rc1",
    "0.10.0rc12",
    "0.10.0",
    "0.10.0.post1",
    "0.10.1",
    "0.32.0",
    "1.0.0",
    "a commit",
]


def test_versions_sort_as_they_were_released() -> None:
    latest_first = IN_ORDER[::-1]
    assert sorted(latest_first, key=version_sort) == IN_ORDER


def test_the_baseline_of_a_skipped_cell_is_a_cell_too() -> None:
    skipped = build.cell(concurrency=64)
    cells = {cell.cell_id for cell in cells_of(build.block(skipped=[SkippedCell(skipped, "no")]))}
    assert {skipped.cell_id, skipped.baseline_cell_id} <= cells
    assert len(cells) == 4


def test_a_skipped_cell_has_a_key() -> None:
    load = build.block_load(build.block(skipped=[SkippedCell(build.cell(concurrency=64), "no")]))
    assert outcome_row(load.block, load.outcomes[-1])["start_index"] == -1


def test_a_target_that_was_not_resolved_is_null() -> None:
    row = block_row(build.block(), hardware=build.CPU, models=(), completed_at=None, interruptions=())
    assert row["target_model_id"] is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.OperationalError("connection refused"), "cannot be reached"),
        (psycopg.errors.DiskFull("No space left on device"), "out of room"),
        (psycopg.errors.AdminShutdown("terminating connection"), "cannot be reached"),
    ],
)
def test_a_fault_of_the_environment_is_named(error: psycopg.Error, expected: str) -> None:
    named = fault(make_url("postgresql+psycopg://u:p@h/d"), error)
    assert isinstance(named, EnvironmentFault)
    assert expected in str(named)
    assert "h:5432/d" in str(named)


@pytest.mark.parametrize("error", [psycopg.errors.DeadlockDetected("x"), psycopg.errors.UniqueViolation("x")])
def test_a_fault_of_ours_stays_itself(error: psycopg.Error) -> None:
    assert fault(make_url("postgresql+psycopg://u:p@h/d"), error) is None
