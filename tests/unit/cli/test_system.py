"""`up`, `down` and `status` as a person types them, and `db` where no database runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.settings import REPOSITORY
from pipeline.system import up as module
from tests.unit.system.test_state import STATE

URL = "postgresql://specwatch:made-up@127.0.0.1:5432/specwatch"  # pragma: allowlist secret - made up for the test


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `up` was asked for; nothing is started."""
    said: dict[str, Any] = {}

    def up(home: Path, **how: Any) -> object:
        said.update(how, home=home)
        return STATE

    monkeypatch.setattr(module, "up", up)
    return said


def test_up_takes_the_settings_and_says_where_everything_is(
    asked: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPECWATCH_AIRFLOW_PORT", "28090")
    monkeypatch.setenv("WAREHOUSE_URL", URL)
    assert main(["up"]) == 0
    assert (asked["home"], asked["repository"], asked["runs"]) == (home, REPOSITORY, home / "runs")
    assert (asked["airflow_port"], asked["dashboard_port"], asked["warehouse_url"]) == (28090, None, URL)
    shown = capsys.readouterr().out
    assert f"dashboard  {STATE.dashboard_url}" in shown
    assert "end it with: specwatch down" in shown


def test_up_as_json_names_the_addresses(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "airflow": STATE.airflow_url,
        "dashboard": STATE.dashboard_url,
        "passwords": STATE.passwords_file,
    }


def test_status_of_nothing_is_every_service_stopped_and_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 3
    assert "edge-worker" in capsys.readouterr().out
    assert main(["status", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["ready"] is False
    assert {service["state"] for service in found["services"]} == {"stopped"}


def test_down_of_nothing_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"]) == 0
    assert "nothing runs" in capsys.readouterr().err


def test_the_address_of_a_database_that_does_not_run_says_how_to_start_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "url"]) == 3
    assert "specwatch db up" in capsys.readouterr().out
    assert main(["db", "down"]) == 0
    assert "does not run" in capsys.readouterr().out


def test_the_address_of_a_database_of_ones_own_is_what_was_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", URL)
    assert main(["db", "url"]) == 0
    assert capsys.readouterr().out == f"{URL}\n"
    assert main(["db", "url", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": URL}
