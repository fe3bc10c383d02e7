"""`specwatch trigger` against a server that answers as Airflow does: what is asked, what is shown, how it exits."""

import json
import sys
import time
from collections.abc import Iterator

import pytest

from pipeline.cli import main
from tests.support.fake_airflow import RUN_ID, FakeAirflow, serving, task
from tests.unit.cli.conftest import Terminal, record_system

pytestmark = pytest.mark.loopback


def reported(text: str) -> dict[str, str]:
    """A line that the pipeline logged in a task."""
    return {"logger": "specwatch", "event": text}


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAirflow]:
    """An Airflow that this home's system runs; looking at it again costs no time."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    fake = FakeAirflow()
    with serving(fake) as url:
        record_system(airflow_url=url)
        yield fake


def test_without_waiting_the_run_id_is_all(airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.runs(("queued", []))
    assert main(["trigger", "nightly", "--matrix", "m.yaml", "--no-wait"]) == 0
    assert airflow.sent[-1] == {"logical_date": None, "conf": {"matrix": "m.yaml"}}
    assert capsys.readouterr().out == f"{RUN_ID}\n"
    assert main(["trigger", "nightly", "--no-wait", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"dag_id": "nightly_matrix", "run_id": RUN_ID}


def test_a_green_run_is_followed_task_by_task_with_what_its_tasks_report(
    airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.runs(
        ("running", [task("plan", "running")]),
        ("running", [task("plan", "success", duration=2.4), task("bench", None, map_index=0)]),
        ("success", [task("plan", "success", duration=2.4), task("bench", "success", map_index=0, try_number=2)]),
    )
    noise = {"logger": "airflow.task", "event": "Done"}
    airflow.logs("plan", [reported("8 cells")], [reported("8 cells"), noise, reported("planned")])
    airflow.logs("bench", [reported("16 of 16")], try_number=2)
    assert main(["trigger", "nightly"]) == 0
    said = capsys.readouterr().err
    assert [said.count(line) for line in ("8 cells", "planned", "16 of 16", "Done")] == [1, 1, 1, 0]
    assert "plan: success after 2 s" in said
    assert "success (try 2)" in said


def test_on_a_terminal_a_bar_counts_the_repetitions_of_the_block_that_runs(
    airflow: FakeAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    airflow.runs(("running", [task("bench", "running")]), ("success", [task("bench", "success")]))
    airflow.logs("bench", [reported("3 of 16: 0.32.0 tiny ngram-k4 json c=1 repetition 2: 96 tokens in 2.0 s (48/s)")])
    assert main(["trigger", "nightly"]) == 0
    assert "3/16" in terminal.getvalue()


def test_a_red_run_exits_4_and_shows_the_end_of_each_failed_log(
    airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.runs(("failed", [task("gate", "failed")]))
    lines: list[object] = [f"line {n}" for n in range(20)]
    cause = {"event": "Task failed", "error_detail": [{"exc_type": "GateFailed", "exc_value": "1 of 6 cells"}]}
    airflow.logs("gate", [*lines, cause])
    assert main(["trigger", "nightly", "--json"]) == 4
    shown, document = capsys.readouterr().out.split("{", 1)
    assert "gate failed; the end of its log:" in shown
    assert "GateFailed: 1 of 6 cells" in shown
    assert ("line 6\n" in shown, "line 7\n" in shown) == (False, True)  # 15 lines, the cause among them
    assert json.loads("{" + document)["state"] == "failed"


def test_a_run_that_waits_behind_another_says_so_once(airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.runs(*[("queued", [])] * 8, ("success", []))
    assert main(["trigger", "nightly"]) == 0
    assert capsys.readouterr().err.count("queued: an earlier run of this DAG goes first") == 1


def test_a_log_that_cannot_be_read_yet_is_read_later(airflow: FakeAirflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.runs(("running", [task("plan", "running")]), ("success", [task("plan", "success")]))
    assert main(["trigger", "nightly"]) == 0  # 404 for the log, each time
    assert "plan: success" in capsys.readouterr().err


def test_chosen_parts_of_the_matrix_are_passed_on(airflow: FakeAirflow) -> None:
    airflow.say("GET", "/api/v2/dags/adhoc_matrix", {"is_paused": False})
    known = dict.fromkeys(["matrix", "methods", "concurrencies", "repetitions"])
    airflow.say("GET", "/api/v2/dags/adhoc_matrix/details", {"params": known})
    airflow.runs(("success", []), dag_id="adhoc_matrix")
    assert main(["trigger", "adhoc", "--methods", "ngram-k4", "--concurrencies", "1", "2", "--no-wait"]) == 0
    assert airflow.sent[-1]["conf"] == {"methods": ["ngram-k4"], "concurrencies": [1, 2]}
