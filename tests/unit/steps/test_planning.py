"""A plan on disk: its id, what is continued, and a block in which nothing can run."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline import steps
from pipeline.cli import main
from pipeline.errors import UserError
from pipeline.records.layout import RESULT_FILE
from pipeline.settings import REPOSITORY
from pipeline.steps import planning

SMOKE = "matrices/smoke.yaml"
NOTHING_RUNS = ["--engine-versions", "0.19.0"]  # it refuses speculation on a CPU: every cell is skipped


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def plan(**how: Any) -> dict[str, Any]:
    return steps.plan_sweep(SMOKE, **how)


def test_a_relative_matrix_is_looked_for_here_and_then_in_the_repository(tmp_path: Path) -> None:
    assert plan()["cells"] == 8
    (tmp_path / "matrices").mkdir()
    (tmp_path / SMOKE).write_text("version: 1")
    with pytest.raises(UserError, match="is missing"):
        plan()


def test_a_sweep_is_named_after_its_matrix_and_the_time_it_began() -> None:
    made = datetime.strptime(planning.new_sweep_id(SMOKE, overrides={}), "smoke-%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - made).total_seconds()) < 600


@pytest.mark.parametrize("sweep_id", ["../elsewhere", "", "-x", "a b", "x" * 129])
def test_what_cannot_be_a_directory_is_no_sweep_id(sweep_id: str) -> None:
    with pytest.raises(UserError, match="is no sweep id"):
        plan(sweep_id=sweep_id)


def test_the_newest_unfinished_sweep_of_the_same_matrix_is_continued(runs: Path) -> None:
    first = plan(sweep_id="smoke-1")
    plan(sweep_id="smoke-2")
    plan(sweep_id="smoke-3", overrides={"repetitions": 5})  # another matrix
    plan(sweep_id="smoke-4", trigger="nightly")  # Airflow continues its own
    assert plan()["sweep_id"] == "smoke-2"
    assert plan(sweep_id="smoke-1") == first  # planned again, it stays as it was
    for block in (runs / "smoke-2").glob("*/block.json"):
        (block.parent / RESULT_FILE).write_text("{}")
    assert plan()["sweep_id"] == "smoke-1"


def test_a_block_in_which_nothing_can_run_is_complete_without_an_engine(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", SMOKE, *NOTHING_RUNS, "--new", "--runs", str(runs / "mine")]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "0 measured, 0 failed, 8 skipped" in said.out
    assert "every cell is skipped, nothing to prepare" in said.err
    (result,) = (runs / "mine").rglob(RESULT_FILE)
    assert {outcome["status"] for outcome in json.loads(result.read_text())["outcomes"]} == {"skipped"}

    said_again: list[str] = []
    assert steps.bench_block(str(result.parent), report=said_again.append)["skipped"] == 8
    assert said_again == [f"block {result.parent.name} is complete already"]


def test_the_matrix_of_every_night_is_found_from_any_directory() -> None:
    assert planning.expand_matrix(SMOKE, overrides={}).name == "smoke"
    assert planning.expand_matrix(str(REPOSITORY / SMOKE), overrides={}).name == "smoke"
