"""What every DAG file must be, whatever it does."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipeline.settings import REPOSITORY

DAG_IDS = ["nightly_matrix", "adhoc_matrix"]
GPU_TASKS = ["block.prepare", "block.bench"]
CENTRAL_TASKS = ["plan", "ingest", "analyze", "gate"]
PARSE_S = 0.3


@pytest.fixture(params=DAG_IDS)
def dag(request: pytest.FixtureRequest, described: dict[str, Any]) -> dict[str, Any]:
    return dict(described["dags"][request.param])


def test_every_dag_file_is_known(described: dict[str, Any]) -> None:
    files = {path.stem for path in (REPOSITORY / "dags").glob("*.py")} - {"factory"}

    assert sorted(described["dags"]) == sorted(files)


def test_parsing_imports_nothing_heavy(described: dict[str, Any]) -> None:
    assert described["modules"] == []
    assert [name for name in described["heavy"] if name != "sqlalchemy.orm"] == []


def test_parsing_is_quick(dag: dict[str, Any]) -> None:
    assert dag["parse_s"] < PARSE_S


def test_a_dag_file_only_wires(dag: dict[str, Any]) -> None:
    for path in (REPOSITORY / "dags").glob("*_matrix.py"):
        assert len(path.read_text().splitlines()) < 100


def test_it_is_documented_and_tagged(dag: dict[str, Any]) -> None:
    assert len(dag["doc_md"]) > 100
    assert dag["description"]
    assert "specwatch" in dag["tags"]
    assert all(task["documented"] for task in dag["tasks"].values())


def test_one_run_at_a_time_and_no_catching_up(dag: dict[str, Any]) -> None:
    assert dag["max_active_runs"] == 1
    assert dag["catchup"] is False


def test_the_night_has_a_timezone(described: dict[str, Any]) -> None:
    assert "Europe/Berlin" in described["dags"]["nightly_matrix"]["timetable"]


@pytest.mark.parametrize("task_id", GPU_TASKS)
def test_work_on_the_gpu_goes_to_its_queue_and_takes_its_slot(dag: dict[str, Any], task_id: str) -> None:
    task = dag["tasks"][task_id]

    assert (task["executor"], task["queue"], task["pool"]) == ("EdgeExecutor", "blackwell", "gpu")
    assert task["mapped"]
    assert task["timeout_s"]


@pytest.mark.parametrize("task_id", CENTRAL_TASKS)
def test_the_rest_stays_on_the_default_worker(dag: dict[str, Any], task_id: str) -> None:
    task = dag["tasks"][task_id]

    assert (task["executor"], task["queue"], task["pool"]) == (None, "default", "default_pool")


def test_every_task_is_retried(dag: dict[str, Any]) -> None:
    assert all(task["retries"] >= 2 for task in dag["tasks"].values())
    assert dag["tasks"]["block.bench"]["retry_delay_s"] <= 15
    assert dag["tasks"]["ingest"]["retries"] >= 10


def test_the_gate_is_the_only_leaf_and_always_runs(dag: dict[str, Any]) -> None:
    assert [name for name, task in dag["tasks"].items() if not task["downstream"]] == ["gate"]
    assert dag["tasks"]["gate"]["trigger_rule"] == "all_done"


def test_ingest_runs_also_for_a_block_that_failed(dag: dict[str, Any]) -> None:
    assert dag["tasks"]["ingest"]["trigger_rule"] == "all_done"
    assert dag["tasks"]["ingest"]["mapped"]


@pytest.mark.parametrize(
    ("dag_id", "name", "value"),
    [
        ("nightly_matrix", "matrix", "smoke.json"),
        ("adhoc_matrix", "matrix", "matrices/none-such.yaml"),
        ("adhoc_matrix", "methods", "ngram-k4"),
        ("adhoc_matrix", "methods", [""]),
        ("adhoc_matrix", "concurrencies", [0]),
        ("adhoc_matrix", "repetitions", 0),
    ],
)
def test_a_wrong_parameter_is_refused(described: dict[str, Any], dag_id: str, name: str, value: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, described["dags"][dag_id]["params"][name])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            ("methods", ["ngram-k4"]),
            ("methods", []),
            ("concurrencies", [1, 4]),
            ("repetitions", 2),
            ("repetitions", None),
        ],
        *[("arrivals", ["poisson:4"]), ("temperatures", ["0", "stated"]), ("output_tokens", ["128"])],
    ],
)
def test_a_right_parameter_is_taken(described: dict[str, Any], name: str, value: object) -> None:
    jsonschema.validate(value, described["dags"]["adhoc_matrix"]["params"][name])


def test_the_form_offers_the_matrices_of_the_repository(described: dict[str, Any]) -> None:
    offered = described["dags"]["adhoc_matrix"]["params"]["matrix"]["enum"]

    assert offered == sorted(f"matrices/{path.name}" for path in Path(REPOSITORY / "matrices").glob("*.yaml"))
