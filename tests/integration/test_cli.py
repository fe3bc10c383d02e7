"""Commands that talk to a real warehouse, from `db up` on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.system import postgres
from pipeline.system.layout import Layout
from tests.support.worker_port import worker_port

NOBODY = "postgresql://specwatch:made-up@127.0.0.1:9/specwatch"  # pragma: allowlist secret - made up for the test


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_POSTGRES_PORT", str(worker_port()))
    for name in ("WAREHOUSE_URL", "WAREHOUSE_URL_FILE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "home"
    postgres.stop(Layout(tmp_path / "home").postgres)


def doctor(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What doctor says of the warehouse."""
    capsys.readouterr()
    main(["doctor", "--json"])
    checks: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return next(check for check in checks if check["name"] == "warehouse")


def test_the_embedded_database_is_started_named_and_stopped(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(capsys)["found"] == "embedded, stopped"
    assert main(["db", "up"]) == 0
    assert main(["db", "up"]) == 0  # again: it runs already
    assert doctor(capsys)["found"].startswith("embedded, running on ")
    assert main(["db", "url"]) == 0
    assert capsys.readouterr().out.startswith("postgresql://specwatch:")
    assert main(["verdict"]) == 0
    assert "holds no verdict: run `make demo`" in capsys.readouterr().out
    assert main(["db", "down"]) == 0
    assert capsys.readouterr().out == "stopped\n"
    assert doctor(capsys)["found"] == "embedded, stopped"


def test_an_empty_warehouse_has_nothing_to_analyze_and_no_verdict(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    assert main(["analyze"]) == 0
    assert capsys.readouterr().out == "0 sweeps, 0 verdicts\n"
    assert main(["analyze", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["verdict", "--sweep", "none-such"]) == 0
    assert "holds no verdict of sweep none-such" in capsys.readouterr().out


def test_a_warehouse_of_ones_own_is_migrated_only_when_asked(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", postgres.ensure_database(postgres_server, "unmigrated"))
    assert main(["verdict"]) != 0
    assert "specwatch db migrate" in capsys.readouterr().err
    assert main(["db", "migrate"]) == 0
    assert main(["verdict"]) == 0


def test_doctor_says_whether_the_warehouse_answers(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    assert doctor(capsys)["state"] == "ok"
    monkeypatch.setenv("WAREHOUSE_URL", NOBODY)
    found = doctor(capsys)
    assert (found["state"], found["advice"]) == ("missing", "check WAREHOUSE_URL, or unset it")
    assert "made-up" not in str(found)
