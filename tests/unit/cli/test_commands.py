"""The command line: what it prints, what it exits with. No database and no server here."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.cli.output import duration, ratio, share
from pipeline.cli.parser import make_parser
from pipeline.cli.verdict import show
from pipeline.settings import REPOSITORY

UNMEASURED = (
    *("verdict", "harmful", "estimate", "lower", "upper", "decode_speedup", "decode_lower", "decode_upper"),
    *("throughput_speedup", "throughput_lower", "throughput_upper", "acceptance_rate", "mean_acceptance_length"),
    *("pairs", "probability_of_loss", "reasons"),
)
SMOKE = str(REPOSITORY / "matrices" / "smoke.yaml")


def test_plan_shows_blocks_and_changes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", SMOKE]) == 0
    shown = capsys.readouterr().out
    assert "block 01-0.32.0-cpu-smollm2-135m-instruct: 4 server starts" in shown
    assert "8 speculative cells to measure, 0 skipped" in shown
    assert list(home.iterdir()) == []


def test_plan_as_json_holds_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", SMOKE, "--json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["blocks"]
    assert [len(start["cells"]) for start in block["starts"]] == [4, 4, 4, 4]


def test_plan_says_what_is_skipped_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", SMOKE, "--engine-versions", "0.19.0"]) == 0
    shown = capsys.readouterr().out
    assert "0 speculative cells to measure, 8 skipped" in shown
    assert "refuses speculation on CPU before 0.20" in shown


def test_a_user_error_is_a_sentence_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(tmp_path / "nothing.yaml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("specwatch: matrix ")
    assert "Traceback" not in said


def test_ingesting_what_is_no_run_directory_is_a_user_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", str(tmp_path)]) == 2
    assert "holds no run directory" in capsys.readouterr().err


def test_triggering_without_a_system_is_an_environment_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trigger", "nightly"]) == 3
    assert "specwatch up" in capsys.readouterr().err


@pytest.mark.loopback
def test_doctor_finds_a_full_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pipeline.cli.doctor.DISK_NEEDED", 1 << 60)
    assert main(["doctor", "--json"]) == 3
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["disk"]["state"] == "missing"
    assert "SPECWATCH_HOME" in checks["disk"]["advice"]
    assert checks["python"]["state"] == "ok"


def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SPECWATCH_AIRFLOW_PORT", "eighty")
    assert main(["status"]) == 2
    assert "SPECWATCH_AIRFLOW_PORT='eighty' is not a port" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["plan"], ["bench"], ["nothing"], []])
def test_wrong_words_exit_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2


def test_every_command_has_a_module() -> None:
    lines = [
        "doctor",
        "plan m",
        "bench m",
        "ingest p",
        "analyze",
        "verdict",
        "db url",
        "up",
        "down",
        "status",
        "trigger nightly",
    ]
    for line in [*lines, "demo", "engines list"]:
        module = make_parser().parse_args(line.split()).module
        assert (REPOSITORY / "pipeline" / "cli" / f"{module}.py").is_file()


def test_figures_are_shown_alike() -> None:
    assert ratio(1.618, 1.31, 2.012) == "1.62x [1.31, 2.01]"
    assert (ratio(None), share(None), share(0.553)) == (None, None, "55%")
    assert [duration(s) for s in (12, 200, 3900)] == ["12 s", "3 min", "1 h 05 min"]


def test_a_failed_cell_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    row = dict.fromkeys(UNMEASURED)
    row |= {
        "hardware_label": "cpu · x",
        "hardware_kind": "cpu",
        "engine_version": "0.32.0",
        "target": "tiny",
        "weights": "dummy",
        "acceptance": "real",
        "status": "failed",
        "reason": "out of memory",
        "method_name": "ngram-k4",
        "workload": "creative",
        "category": "creative",
        "temperature": 0.0,
        "concurrency": 1,
        "arrival": "closed",
        "repetitions": 0,
        "start_variance_source": None,
    }
    show([row, row | {"prompt_tokens": 4096.0, "guided": True}])
    shown = capsys.readouterr().out
    assert "ngram-k4 · creative 4096 in guided · c=1" in shown
    assert "failed: out of memory" in shown
    assert "dummy weights" in shown
    assert "creative ran greedy (temperature 0)" in shown
