"""A block whose opening baseline cannot run costs no further start."""

from pathlib import Path

import pytest

from pipeline import steps
from pipeline.records.block import read_result, read_starts
from tests.support.fake_matrix import make_fake_matrix
from tests.support.worker_port import worker_port


@pytest.mark.loopback
def test_arms_are_not_started_when_the_opening_baseline_failed_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SPECWATCH_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("SPECWATCH_VLLM_PORT", str(worker_port()))
    monkeypatch.setenv("FAKE_VLLM_DIE_AT_START", "out_of_memory")
    (block,) = steps.plan_sweep(str(make_fake_matrix(tmp_path)), trigger="test")["blocks"]
    steps.prepare_block(block, report=lambda _: None)
    done = steps.bench_block(block, report=lambda _: None, watch_ancestors=False)

    assert (done["measured"], done["failed"]) == (0, 8)
    assert [start.index for start in read_starts(Path(block))] == [0]
    result = read_result(Path(block))
    assert result is not None
    assert {outcome.failure for outcome in result.outcomes} == {"out_of_memory"}
    arms = [outcome.reason or "" for outcome in result.outcomes if outcome.start_index]
    assert len(arms) == 6
    assert all(reason.startswith("not started: its opening baseline failed") for reason in arms)
