"""A run of the DAG from plan to gate, on the fake engine and the real warehouse."""

from pathlib import Path

import pytest
from sqlalchemy import text

from pipeline.warehouse.database import open_warehouse
from tests.dags.conftest import Airflow
from tests.support.system import fake_matrix

pytestmark = pytest.mark.timeout(300)

BROKEN = """\
case "$*" in *speculative*) export FAKE_VLLM_DIE_AT_START=out_of_memory;; esac
exec """


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    engine = open_warehouse(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement))]
    finally:
        engine.dispose()


def test_a_run_measures_publishes_and_judges(run_dag: Airflow, tmp_path: Path, database_url: str) -> None:
    matrix = fake_matrix(tmp_path)

    ended = run_dag("nightly_matrix", matrix=str(matrix))

    assert ended["state"] == "success", ended
    assert set(ended["tasks"].values()) == {"success"}
    # opening and closing baseline and ngram, two repetitions each
    assert rows(database_url, "select count(*) from warehouse.measurement") == [(6,)]
    assert rows(database_url, "select count(*) from warehouse.verdict") == [(1,)]


def test_a_failed_cell_makes_the_run_red_and_everything_else_is_published(
    run_dag: Airflow, tmp_path: Path, database_url: str
) -> None:
    matrix = fake_matrix(tmp_path)
    python = tmp_path / "python"
    python.write_text(python.read_text().replace("exec ", BROKEN))

    ended = run_dag("nightly_matrix", matrix=str(matrix))

    assert ended["state"] == "failed", ended
    assert {name for name, state in ended["tasks"].items() if state != "success"} == {"gate[-1]"}
    assert rows(database_url, "select count(*) from warehouse.measurement") == [(4,)]
    failed = rows(
        database_url, "select failure, reason is not null from warehouse.cell_outcome where status = 'failed'"
    )
    assert failed == [("out_of_memory", True)]


def test_a_matrix_that_cannot_be_planned_fails_at_once(run_dag: Airflow, tmp_path: Path) -> None:
    matrix = fake_matrix(tmp_path)
    matrix.write_text(matrix.read_text().replace("structured", "structred"))

    ended = run_dag("nightly_matrix", matrix=str(matrix))

    assert ended["state"] == "failed"
    assert ended["tasks"]["plan[-1]"] == "failed"  # not up_for_retry
    assert ended["tasks"]["gate[-1]"] == "failed"
