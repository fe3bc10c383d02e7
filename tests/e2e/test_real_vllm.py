"""The real thing: install vLLM for CPU, prepare a real model, measure baseline and ngram, read the verdict."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.records.block import complete_repetitions, read_hosts, read_starts
from pipeline.records.repetition import read_window
from pipeline.settings import REPOSITORY

pytestmark = [pytest.mark.real_vllm, pytest.mark.timeout(1500)]

CHOICE = ["--methods", "ngram-k4", "--workloads", "structured", "--concurrencies", "2", "--repetitions", "1"]


def test_baseline_and_ngram_on_real_vllm_reach_a_verdict(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(REPOSITORY / "matrices" / "smoke.yaml"), "--json", *CHOICE]) == 0
    bench = json.loads(capsys.readouterr().out)
    (block,) = map(Path, bench["blocks"])

    # what the server said of itself was read from its log
    starts = read_starts(block)
    assert [start.position for start in starts] == ["opening", "arm", "closing"]
    for start in starts:
        assert start.failure is None
        assert start.ready_s is not None
        assert start.facts.vllm_version == "0.32.0"
        assert start.facts.model_runner in ("V1", "V2")
        assert start.facts.kv_cache_tokens
    (host,) = {found.hardware for found in read_hosts(block)}
    assert host.kind == "cpu"

    # raw streams: tokens from usage, several tokens in some chunk of the speculative arm
    windows = {manifest.position: read_window(path)[1] for path, manifest in complete_repetitions(block)}
    for window in windows.values():
        assert [record.error for record in window.requests] == [None] * 8
        assert all(record.output_tokens and record.output_tokens <= 48 for record in window.requests)
    arm = windows["arm"].requests
    assert any(b - a > 1 for record in arm for a, b in zip(record.chunk_tokens, record.chunk_tokens[1:], strict=False))
    # Greedy speculation keeps the answers; in bfloat16 a near tie can flip when a step holds another number of tokens.
    pairs = zip(arm, windows["opening"].requests, strict=True)
    assert sum(a.text == b.text for a, b in pairs) >= 5

    assert main(["ingest", bench["sweep_dir"]]) == 0
    capsys.readouterr()
    assert main(["verdict", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["method_name"], row["hardware_kind"], row["weights"], row["acceptance"]) == (
        "ngram-k4",
        "cpu",
        "real",
        "real",
    )
    assert row["status"] == "measured"
    assert row["verdict"] in ("worth_it", "not_worth_it", "undecided")
    assert 0.2 < row["lower"] < row["estimate"] < row["upper"] < 10
    assert 0 < row["acceptance_rate"] <= 1
    assert 1 < row["mean_acceptance_length"] <= 5
