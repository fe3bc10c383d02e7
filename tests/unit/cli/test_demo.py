"""`specwatch demo`: its course and its ends. No system and no warehouse here; Airflow is one that only answers."""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.cli import demo, main
from pipeline.settings import Settings, load_settings
from pipeline.system.layout import Layout
from tests.support.fake_airflow import RUN_ID, FakeAirflow, serving, task
from tests.unit.cli.conftest import record_system

pytestmark = pytest.mark.loopback

PLAN = f"/api/v2/dags/nightly_matrix/dagRuns/{RUN_ID}/taskInstances/plan/xcomEntries/sweep_id"


@pytest.fixture
def ended() -> list[Path]:
    """The homes whose system was ended."""
    return []


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch, ended: list[Path]) -> Iterator[FakeAirflow]:
    before = signal.getsignal(signal.SIGTERM)
    fake = FakeAirflow()
    fake.say("GET", PLAN, {"value": "night-1"})
    with serving(fake) as url:

        def start(_: Settings, *, nightly_cron: str) -> object:
            assert nightly_cron == "off"
            return record_system(airflow_url=url)

        monkeypatch.setattr(time, "sleep", lambda _: None)
        monkeypatch.setattr(demo, "start", start)
        monkeypatch.setattr(demo, "read_samples", lambda _, **__: [])
        monkeypatch.setattr(demo, "read_verdicts", lambda sweep_id: [])
        monkeypatch.setattr(demo, "down", lambda home, **_: ended.append(home))
        yield fake
    signal.signal(signal.SIGTERM, before)


def test_a_green_sweep_is_shown_and_everything_is_left_running(
    airflow: FakeAirflow, ended: list[Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.runs(("success", [task("gate", "success")]))
    assert main(["demo", "--detach"]) == 0
    assert {"logical_date": None, "conf": {"matrix": "matrices/smoke.yaml"}} in airflow.sent
    said = capsys.readouterr()
    assert "the run is green" in said.err
    assert f"run        {home / 'runs' / 'night-1'}" in said.out
    assert "end it: make down" in said.out
    assert ended == []


def test_a_red_sweep_exits_4(airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.runs(("failed", []))
    airflow.say("GET", PLAN, {"detail": "none"}, status=404)
    assert main(["demo", "--detach"]) == 4
    said = capsys.readouterr()
    assert "the run is RED" in said.err
    assert "no sweep was planned" in said.out


def test_interrupted_it_ends_what_it_started(
    airflow: FakeAirflow, ended: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow.runs(("running", []))
    monkeypatch.setattr(time, "sleep", lambda _: signal.raise_signal(signal.SIGTERM))
    assert main(["demo"]) == 0
    assert ended == [home]


def test_on_a_terminal_it_stays_until_the_system_is_ended_elsewhere(
    airflow: FakeAirflow, ended: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.runs(("success", []))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    state = Layout(load_settings().home).state
    monkeypatch.setattr(time, "sleep", lambda _: state.unlink())  # what `specwatch down` does
    assert main(["demo"]) == 0
    said = capsys.readouterr()
    assert "the system was ended" in said.err
    assert "Ctrl-C, or `make down` in another terminal" in said.out
    assert ended == []
