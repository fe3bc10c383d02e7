"""Matrix to verdict on the fake vLLM, through the same steps and commands that a person uses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pipeline import steps
from pipeline.cli import main
from pipeline.cli.trigger import REPETITION
from pipeline.errors import EnvironmentFault, GateFailed, UserError
from pipeline.records.block import complete_repetitions, read_starts
from pipeline.warehouse.database import open_warehouse
from tests.e2e.conftest import quiet, sweep
from tests.support.fake_matrix import make_fake_matrix

FACTS = ("sweep", "block", "server_start", "cell_outcome", "measurement", "acceptance_position", "request", "telemetry")


def ingest(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Ingest every block and analyze the sweep."""
    loads = [steps.ingest_block(block, report=quiet) for block in plan["blocks"]]
    steps.analyze_sweep(plan["sweep_id"], report=quiet)
    return loads


def rows(url: str, statement: str) -> list[dict[str, Any]]:
    """Ask the warehouse."""
    with open_warehouse(url).connect() as connection:
        return [dict(row) for row in connection.execute(text(statement)).mappings()]


def everything(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every fact row, in a stable order."""
    return {table: sorted(rows(url, f"select * from warehouse.{table}"), key=repr) for table in FACTS}


def test_a_sweep_ends_in_a_verdict_for_every_speculative_cell(matrix: Path, home: Path, database_url: str) -> None:
    plan = sweep(matrix)
    (load,) = ingest(plan)
    assert (load["state"], load["quarantined"], load["measurements"]) == ("published", {}, 4 * 2 * 2)
    found = rows(database_url, "select * from warehouse.latest_verdicts order by method_name, concurrency")
    assert [(row["method_name"], row["concurrency"]) for row in found] == [
        ("draft-k3", 1),
        ("draft-k3", 2),
        ("ngram-k4", 1),
        ("ngram-k4", 2),
    ]
    for row in found:
        assert row["lower"] < row["estimate"] < row["upper"]
        assert row["verdict"] in ("worth_it", "not_worth_it", "undecided")
        assert 0 < row["acceptance_rate"] < 1
        assert 1 < row["mean_acceptance_length"] <= row["num_speculative_tokens"] + 1
        assert (row["hardware_kind"], row["pairs"], row["repetitions"]) == ("cpu", 4, 2)
        assert row["baseline_starts"] == 2
    assert steps.check_sweep(plan["sweep_dir"], report=quiet)["measured"] == 6


def test_figures_agree_with_the_raw_records(plan: dict[str, Any], database_url: str) -> None:
    ingest(plan)
    (sums,) = rows(
        database_url,
        "select sum(output_tokens) as client, sum(server_output_tokens) as server, max(token_count_gap) as gap, "
        "sum(failed_requests) as failed from warehouse.measurement",
    )
    assert sums == {"client": 16 * 4 * 16, "server": 16 * 4 * 16, "gap": 0, "failed": 0}
    (baseline,) = rows(
        database_url,
        "select count(*) as n, count(drafts) as drafts from warehouse.measurement where position <> 'arm'",
    )
    assert baseline == {"n": 8, "drafts": 0}


def test_the_machine_is_watched_while_a_window_runs(plan: dict[str, Any], database_url: str) -> None:
    """No GPU is here: the server's processes are known, and everything of a GPU is NULL."""
    ingest(plan)
    (found,) = rows(
        database_url,
        "select count(*) as n, count(telemetry_samples) as watched, max(server_cpu_cores) as cores, "
        "count(energy_joules) + count(foreign_processes) + count(usd_per_gpu_hour) as gpu, "
        "sum(telemetry_errors) as errors, count(faults) as judged, max(identical_share) as identical "
        "from warehouse.measurement",
    )
    assert (found["n"], found["watched"], found["gpu"], found["errors"], found["judged"]) == (16, 16, 0, 0, 16)
    assert found["cores"] > 0, "the kernel counts in hundredths of a second: one short window may see none, not all"
    assert found["identical"] == 1


def test_ingesting_twice_changes_nothing(plan: dict[str, Any], database_url: str) -> None:
    ingest(plan)
    before = everything(database_url)
    ingest(plan)
    assert everything(database_url) == before


def test_benching_again_measures_nothing_again(plan: dict[str, Any]) -> None:
    (block,) = plan["blocks"]
    before = {path: path.stat().st_mtime_ns for path, _ in complete_repetitions(Path(block))}
    assert steps.bench_block(block, report=quiet, watch_ancestors=False)["measured"] == 8
    assert {path: path.stat().st_mtime_ns for path, _ in complete_repetitions(Path(block))} == before


def test_a_run_directory_copied_from_elsewhere_is_ingested(plan: dict[str, Any], home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copied" / plan["sweep_id"]
    shutil.copytree(plan["sweep_dir"], copy)
    shutil.rmtree(home)
    assert main(["ingest", str(copy)]) == 0


def test_an_arm_that_runs_out_of_memory_is_a_row_with_its_reason(
    matrix: Path, home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM_DIE_AT_START", "out_of_memory")
    monkeypatch.setenv("FAKE_VLLM_ONLY", "draft_model")
    plan = sweep(matrix)
    ingest(plan)
    found = rows(database_url, "select method_name, status, reason, verdict from warehouse.latest_verdicts")
    failed = [row for row in found if row["method_name"] == "draft-k3"]
    assert [(row["status"], row["verdict"]) for row in failed] == [("failed", None)] * 2
    assert "memory" in failed[0]["reason"]
    assert all(row["verdict"] for row in found if row["method_name"] == "ngram-k4")
    with pytest.raises(GateFailed, match=r"2 of 6 cells .*have no clean result:\n.*draft-k3 structured c=1"):
        steps.check_sweep(plan["sweep_dir"], report=quiet)
    # out of memory is not tried again unchanged
    assert [start.attempt for start in read_starts(Path(plan["blocks"][0])) if start.method_name == "draft-k3"] == [1]


def test_a_server_that_dies_mid_run_is_started_again_and_nothing_is_lost(
    matrix: Path, home: Path, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM_DIE_AT", "12")
    monkeypatch.setenv("FAKE_VLLM_ONLY", "ngram")
    monkeypatch.setenv("FAKE_VLLM_ONCE", str(tmp_path / "died"))
    plan = sweep(matrix)
    (load,) = ingest(plan)
    assert load["measurements"] == 16
    assert steps.check_sweep(plan["sweep_dir"], report=quiet)["measured"] == 6
    starts = rows(
        database_url,
        "select attempt, failure_class from warehouse.server_start where method_name = 'ngram-k4' order by attempt",
    )
    assert starts == [{"attempt": 1, "failure_class": "engine_died"}, {"attempt": 2, "failure_class": None}]


def test_a_server_that_keeps_dying_fails_its_cells_and_keeps_what_was_complete(
    matrix: Path, home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM_DIE_AT", "8")  # attempt 1 completes one repetition, attempt 2 another
    monkeypatch.setenv("FAKE_VLLM_ONLY", "ngram")
    plan = sweep(matrix)
    ingest(plan)
    found = rows(database_url, "select reason from warehouse.latest_verdicts where status = 'failed'")
    assert len(found) == 2
    assert all(row["reason"].startswith("1 of 2 repetitions: ") for row in found)
    with pytest.raises(GateFailed):
        steps.check_sweep(plan["sweep_dir"], report=quiet)


# Requests of a start: one warm-up and four prompts at concurrency 1, then two warm-ups and four prompts (8 to 11) at 2.
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FAKE_VLLM_HTTP_ERRORS", "9=503", "request"),
        ("FAKE_VLLM_BREAK_STREAM_AT", "9", "request"),
        ("FAKE_VLLM_RESET_COUNTERS_AT", "9", "server restarted"),
    ],
)
def test_a_window_that_cannot_be_trusted_is_kept_out(
    matrix: Path, home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("FAKE_VLLM_ONLY", "ngram")
    plan = sweep(matrix)
    ingest(plan)
    bad = rows(
        database_url,
        "select status, reason, verdict from warehouse.latest_verdicts where status in ('failed', 'quarantined')",
    )
    assert len(bad) == 1
    assert bad[0]["verdict"] is None
    assert said in bad[0]["reason"]
    with pytest.raises(GateFailed, match="1 of 6 cells"):
        steps.check_sweep(plan["sweep_dir"], report=quiet)


def test_an_unsupported_cell_is_skipped_with_the_reason_and_the_run_is_green(
    tmp_path: Path, home: Path, database_url: str
) -> None:
    eagle = "  - {name: eagle-k3, method: ngram_gpu, num_speculative_tokens: 3}\nworkloads:"
    plan = sweep(make_fake_matrix(tmp_path, changes={"workloads:": eagle}))
    ingest(plan)
    assert plan["skipped"] == 2
    found = rows(database_url, "select status, reason from warehouse.latest_verdicts where method_name = 'eagle-k3'")
    assert found == [{"status": "skipped", "reason": found[0]["reason"]}] * 2
    assert "ngram_gpu needs a GPU" in found[0]["reason"]
    assert steps.check_sweep(plan["sweep_dir"], report=quiet)["skipped"] == 2


def test_a_block_that_could_not_be_prepared_leaves_rows_with_the_reason(
    tmp_path: Path, home: Path, database_url: str
) -> None:
    matrix = make_fake_matrix(tmp_path)
    shutil.rmtree(tmp_path / "draft")
    plan = steps.plan_sweep(str(matrix), trigger="test")
    with pytest.raises(UserError, match="draft"):
        steps.prepare_block(plan["blocks"][0], report=quiet)
    ingest(plan)
    found = rows(database_url, "select status, reason from warehouse.latest_verdicts")
    assert [row["status"] for row in found] == ["failed"] * 4
    assert all("draft" in row["reason"] for row in found)


def test_a_database_that_is_down_loses_nothing(
    plan: dict[str, Any], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = "postgresql://specwatch:geheim@127.0.0.1:9/specwatch"  # pragma: allowlist secret - made up for the test
    monkeypatch.setenv("WAREHOUSE_URL", nobody)
    with pytest.raises(EnvironmentFault) as caught:
        ingest(plan)
    assert "geheim" not in str(caught.value)
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    assert ingest(plan)[0]["state"] == "published"


def test_a_damaged_run_directory_is_refused_by_file_and_publishes_nothing(
    plan: dict[str, Any], database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = next(Path(plan["blocks"][0]).rglob("requests.jsonl.zst"))
    victim.write_bytes(victim.read_bytes()[:-3])
    assert main(["ingest", plan["sweep_dir"]]) == 2
    assert f"{victim} does not match its manifest" in capsys.readouterr().err
    assert rows(database_url, "select * from warehouse.measurement") == []


def test_the_command_line_goes_from_matrix_to_verdict(
    matrix: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["bench", str(matrix), "--json", "--methods", "ngram-k4", "--concurrencies", "1", "--repetitions", "1"])
        == 0
    )
    said = capsys.readouterr()
    bench = json.loads(said.out)
    assert bench["cells"] == 1
    assert [told.group(1, 2) for told in REPETITION.finditer(said.err)] == [(str(n), "3") for n in (1, 2, 3)]
    assert main(["ingest", bench["sweep_dir"]]) == 0
    capsys.readouterr()
    assert main(["verdict", "--json", "--sweep", bench["sweep_id"]]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["method_name"], row["concurrency"], row["repetitions"]) == ("ngram-k4", 1, 1)
    assert main(["verdict", "--why"]) == 0
    shown = capsys.readouterr().out
    assert "measured on a CPU: says nothing about a GPU" in shown
    assert "of the drafted tokens were accepted" in shown
    assert main(["analyze", "--margin", "50", bench["sweep_id"]]) == 0
    capsys.readouterr()
    main(["verdict", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["verdict"] == "not_worth_it"


def test_an_interrupted_sweep_is_continued_and_a_finished_one_is_not(matrix: Path, home: Path) -> None:
    first = steps.plan_sweep(str(matrix))
    assert steps.plan_sweep(str(matrix))["sweep_id"] == first["sweep_id"]
    assert steps.plan_sweep(str(matrix), overrides={"repetitions": 1}, sweep_id="other-1")["sweep_id"] == "other-1"
