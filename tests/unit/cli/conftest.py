"""A home of its own for every command, and the system that seems to run there."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.settings import load_settings
from pipeline.system.credentials import passwords_file
from pipeline.system.layout import Layout
from pipeline.system.state import SystemState, write_state
from tests.unit.system.test_state import STATE

CHOSEN = ("AIRFLOW_PORT", "DASHBOARD_PORT", "POSTGRES_PORT", "VLLM_PORT", "RUNS", "LOG")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    for name in ("WAREHOUSE_URL", "WAREHOUSE_URL_FILE", *(f"SPECWATCH_{name}" for name in CHOSEN)):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


class Terminal(io.StringIO):
    """Standard error of a person."""

    def isatty(self) -> bool:
        return True


def record_system(*, airflow_url: str) -> SystemState:
    """Write down, as `up` does, that the system of this home runs with its Airflow at `airflow_url`."""
    layout = Layout(load_settings().home)
    layout.make()
    state = replace(STATE, airflow_url=airflow_url, passwords_file=str(passwords_file(layout.airflow)))
    write_state(layout.state, state)
    return state
