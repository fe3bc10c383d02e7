"""The DAG that keeps the warehouse in order: what it is, when it runs, and that it does its work."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dags.conftest import read_under

PARSE_S = 0.3
SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "chosen": {"SPECWATCH_MAINTENANCE_CRON": "30 4 * * *", "SPECWATCH_NIGHTLY_TIMEZONE": "UTC"},
    "off": {"SPECWATCH_MAINTENANCE_CRON": "off"},
    "no nights": {"SPECWATCH_NIGHTLY_CRON": "off"},
    "no nights, yet this": {"SPECWATCH_NIGHTLY_CRON": "off", "SPECWATCH_MAINTENANCE_CRON": "0 5 * * 0"},
}
PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
found = {}
for name, given in json.loads(sys.argv[2]).items():
    os.environ.update(given)
    import maintenance
    found[name] = str(getattr(maintenance.maintenance.timetable, "expression", "never"))
    for variable in given:
        del os.environ[variable]
    del sys.modules["maintenance"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def dag(described: dict[str, Any]) -> dict[str, Any]:
    return dict(described["dags"]["maintenance"])


def test_it_wires_and_parses_quickly(dag: dict[str, Any]) -> None:
    assert dag["parse_s"] < PARSE_S
    assert (dag["max_active_runs"], dag["catchup"]) == (1, False)
    assert "specwatch" in dag["tags"]
    assert len(dag["doc_md"]) > 100


def test_every_task_is_documented_retried_and_away_from_the_gpu(dag: dict[str, Any]) -> None:
    assert sorted(dag["tasks"]) == ["backup", "maintain", "retention"]
    for task in dag["tasks"].values():
        assert task["documented"]
        assert task["retries"] >= 2
        assert task["timeout_s"]
        assert (task["executor"], task["queue"], task["pool"]) == (None, "default", "default_pool")


def test_nothing_is_dropped_after_a_backup_that_failed(dag: dict[str, Any]) -> None:
    task = dag["tasks"]["retention"]
    assert (task["upstream"], task["trigger_rule"]) == (["backup"], "none_failed")
    assert dag["tasks"]["maintain"]["upstream"] == []


def test_when_it_runs_is_a_setting(airflow_environment: dict[str, str]) -> None:
    assert read_under(SETTINGS, PROGRAM, environment=airflow_environment) == {
        "default": "0 12 * * *",
        "chosen": "30 4 * * *",
        "off": "never",
        "no nights": "never",
        "no nights, yet this": "0 5 * * 0",
    }


def test_a_run_keeps_the_warehouse_and_backs_it_up_where_a_directory_is_named(
    run_dag: Callable[..., dict[str, Any]],
    migrated: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(migrated, "SPECWATCH_BACKUPS", str(tmp_path / "backups"))
    done = run_dag("maintenance")
    assert done["state"] == "success"
    assert set(done["tasks"].values()) == {"success"}
    assert len(list((tmp_path / "backups").glob("warehouse-*.dump"))) == 1
