"""What `up` leaves behind: secrets for their owner only, and a record that survives reading."""

import json
import stat
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system.credentials import jwt_secret_file, passwords_file, read_password
from pipeline.system.down import down
from pipeline.system.state import SystemState, read_state, write_state
from pipeline.system.status import status

STATE = SystemState(
    home="/home",
    marker="cafe",
    airflow_url="http://127.0.0.1:28080",
    airflow_port=28080,
    dashboard_url="http://127.0.0.1:28501",
    dashboard_port=28501,
    postgres_port=25432,
    metadata_url="postgresql+psycopg://a",
    warehouse_url="postgresql://b",
    passwords_file="/home/airflow/passwords.json",
    worker_name="box",
)


def test_secrets_are_made_once_and_for_their_owner(tmp_path: Path) -> None:
    for make in (jwt_secret_file, passwords_file):
        text = make(tmp_path).read_text()

        assert make(tmp_path).read_text() == text
        assert stat.S_IMODE(make(tmp_path).stat().st_mode) == 0o600
    assert len(read_password(passwords_file(tmp_path))) >= 16


def test_a_missing_password_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="specwatch up"):
        read_password(tmp_path / "none.json")


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_state(tmp_path / "system.json", STATE)

    assert read_state(tmp_path / "system.json") == STATE
    assert stat.S_IMODE((tmp_path / "system.json").stat().st_mode) == 0o600


def test_no_record_and_another_layout_are_no_system(tmp_path: Path) -> None:
    assert read_state(tmp_path / "system.json") is None
    (tmp_path / "system.json").write_text(json.dumps(STATE.as_json() | {"layout_version": 99}))
    assert read_state(tmp_path / "system.json") is None


def test_a_broken_record_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "system.json").write_text("{")

    with pytest.raises(EnvironmentFault, match="specwatch down"):
        read_state(tmp_path / "system.json")


def test_a_home_where_nothing_ran_is_stopped_and_stays_untouched(tmp_path: Path) -> None:
    home = tmp_path / "home"

    found = status(home)
    down(home, report=lambda _: None)

    assert {service.state for service in found.services} == {"stopped"}
    assert not found.ready
    assert not home.exists()
