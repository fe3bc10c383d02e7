"""Servers that run already, measured by the same steps: an arm each, nothing of them started or ended by us."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from pipeline import steps
from pipeline.errors import EnvironmentFault, UserError
from pipeline.records.block import read_block, read_hosts, read_starts, read_sweep
from pipeline.warehouse.database import open_warehouse
from tests.e2e.conftest import quiet, sweep
from tests.support.fake_matrix import make_fake_matrix
from tests.support.fake_vllm.serving import fake_server

NGRAM = {"method": "ngram", "num_speculative_tokens": 4}
ENGINE = '  - version: "0.32.0"\n    platform: cpu\n    python: {python}\n'


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Two servers of somebody else: without speculation, and with ngram."""
    with ExitStack() as stack:
        servers = {
            arm: stack.enter_context(fake_server(tmp_path / arm, speculative=speculative))
            for arm, speculative in (("none", None), ("ngram-k4", NGRAM))
        }
        yield {arm: server.url for arm, server in servers.items()}
        assert [server.process.poll() for server in servers.values()] == [None, None]


def matrix(directory: Path, servers: dict[str, str]) -> Path:
    """The usual matrix, with `servers` in place of its engine."""
    directory.mkdir()
    path = make_fake_matrix(directory)
    lines = "".join(f"      {arm}: {url}\n" for arm, url in servers.items())
    old = ENGINE.format(python=directory / "engine" / "bin" / "python")
    written = path.read_text()
    assert old in written
    path.write_text(written.replace(old, f"  - platform: cpu\n    external:\n{lines}"))
    return path


def test_they_are_measured_and_what_cannot_be_known_is_null(
    tmp_path: Path, home: Path, urls: dict[str, str], database_url: str
) -> None:
    plan = sweep(matrix(tmp_path / "m", urls))
    (block,) = plan["blocks"]
    assert read_block(Path(block)).engine.engine_id == "0.32.0-cpu-external"
    assert read_sweep(Path(plan["sweep_dir"])).releases == {"external (cpu)": ("0.32.0",)}
    assert plan["skipped"] == 2  # draft-k3 has no server
    starts = read_starts(Path(block))
    assert [(start.method_name, start.argv, start.environment) for start in starts] == [
        ("none", (), {}),
        ("ngram-k4", (), {}),
        ("none", (), {}),
    ]
    assert all(start.ready_s is None and start.failure is None for start in starts)
    assert {start.facts.vllm_version for start in starts} == {"0.32.0"}
    assert {start.facts.kv_cache_tokens for start in starts} == {None}
    assert read_hosts(Path(block))[0].engine_packages == {}
    steps.ingest_block(block, report=quiet)
    steps.analyze_sweep(plan["sweep_id"], report=quiet)
    with open_warehouse(database_url).connect() as connection:
        found = connection.execute(
            text("select method_name, status, verdict, reason from warehouse.latest_verdicts order by 1, 2")
        ).mappings()
        rows = [dict(row) for row in found]
    assert [(row["method_name"], row["status"]) for row in rows] == [
        *[("draft-k3", "skipped")] * 2,
        *[("ngram-k4", "measured")] * 2,
    ]
    assert "no external server is named for arm draft-k3" in rows[0]["reason"]
    assert all(row["verdict"] for row in rows[2:])


@pytest.mark.parametrize(
    ("baseline", "arm", "failed", "words"),
    [
        ("ngram-k4", "ngram-k4", "none", "drafts 4 tokens a step, but the baseline speculates nothing"),
        ("none", "none", "ngram-k4", "does not speculate"),
    ],
)
def test_a_server_that_is_not_what_the_arm_says_fails_its_cells_with_the_difference(
    tmp_path: Path, home: Path, urls: dict[str, str], baseline: str, arm: str, failed: str, words: str
) -> None:
    plan = sweep(matrix(tmp_path / "m", {"none": urls[baseline], "ngram-k4": urls[arm]}))
    said = {start.method_name: start.failure.message for start in read_starts(Path(plan["blocks"][0])) if start.failure}
    assert words in said[failed]


def test_a_server_that_does_not_answer_is_named_when_the_sweep_is_planned(tmp_path: Path, home: Path) -> None:
    nobody = {"none": "http://127.0.0.1:9"}
    with pytest.raises(EnvironmentFault, match=r"http://127\.0\.0\.1:9 \(arm none\) does not answer /version"):
        steps.plan_sweep(str(matrix(tmp_path / "m", nobody)), trigger="test")


def test_a_server_on_another_machine_is_refused(tmp_path: Path, home: Path) -> None:
    elsewhere = {"none": "http://gpu-box:8000"}
    with pytest.raises(UserError, match="run Specwatch on the machine that runs the server"):
        steps.plan_sweep(str(matrix(tmp_path / "m", elsewhere)), trigger="test")
