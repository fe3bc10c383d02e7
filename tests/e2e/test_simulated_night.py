"""Nights whose truth is known, through the code that measures real ones. This is the test that protects every number.

The truth of a simulated night (tests/support/nights.py), at concurrency c:

    decode speedup      exp(mean over prompts of log(TPOT baseline / TPOT arm))                    given
    latency speedup     exp(mean over prompts of log of the same of (TTFT + (n - 1) TPOT) / n)     follows
    throughput speedup  (E[tokens] / E[latency]) of the arm / the same of the baseline             follows

Around it vary: prompts, server starts, requests, and the machine drifts. What is measured must contain the truth at the
rate that it states: 95%.
"""

import math
import os
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pipeline import steps
from pipeline.domain.verdict import DEFAULT_MARGIN, Speedup
from pipeline.steps.analyzing import derive
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.queries import aa_pairs, cell_measurements, paired_requests, sweep_verdicts
from tests.support.fake_matrix import make_fake_matrix
from tests.support.night_analysis import counter_window
from tests.support.night_records import aa_rows, rows_of, write_night
from tests.support.nights import Night

NIGHT = Night(
    decode_speedup=1.3,
    prompts=8,
    repetitions=1,
    concurrency=(1, 4),
    prompt_spread=0.10,
    start_spread=0.03,
    repetition_spread=0.015,
    drift=0.01,
    drift_spread=0.01,
    length_spread=0.1,
)
# Other tests walk these branches once; hundreds of nights under a tracer take three times as long.
pytestmark = pytest.mark.untraced

NIGHTS = 300
TOLERANCE = 3 * math.sqrt(0.95 * 0.05 / NIGHTS)  # three standard deviations of a share of 300 nights


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated night need not survive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@dataclass(frozen=True)
class Analyzed:
    """A night after the analysis."""

    night: int
    speedups: dict[tuple[int, str], Speedup]  # by concurrency and metric
    verdicts: dict[int, str]  # by concurrency
    measured: list[dict[str, Any]]


def analyzed_nights(runs: Path, night: Night, *, nights: int) -> list[Analyzed]:
    """Write, read, measure and analyze the nights in order: each knows the A/A pairs of those before it."""
    found: list[Analyzed] = []
    pairs: list[dict[str, Any]] = []
    for number in range(nights):
        load, measured, requests = rows_of(write_night(runs, night, seed=number))
        pairs += aa_rows(measured, requests)
        sweep_id = load.block.sweep.sweep_id
        speedups, verdicts = derive(sweep_id, measured=measured, requests=requests, pairs=pairs, margin=DEFAULT_MARGIN)
        cells = {row["cell_id"]: row["concurrency"] for row in measured}
        found.append(
            Analyzed(
                number,
                {(cells[speedup.cell_id], speedup.metric): speedup for speedup in speedups},
                {cells[verdict.cell_id]: verdict.verdict for verdict in verdicts},
                measured,
            )
        )
    return found


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> list[Analyzed]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        return analyzed_nights(tmp_path_factory.mktemp("runs"), NIGHT, nights=NIGHTS)


@pytest.mark.parametrize("concurrency", NIGHT.concurrency)
@pytest.mark.parametrize("metric", ["latency_speedup", "decode_speedup", "throughput_speedup"])
def test_intervals_from_run_directories_contain_the_truth(
    analyzed: list[Analyzed], metric: str, concurrency: int
) -> None:
    truth = NIGHT.truth(concurrency)[metric]
    found = [night.speedups[concurrency, metric] for night in analyzed]
    share = sum(speedup.lower <= truth <= speedup.upper for speedup in found) / NIGHTS
    assert abs(share - 0.95) <= TOLERANCE, share
    mean_error = sum(math.log(speedup.estimate / truth) for speedup in found) / NIGHTS
    assert abs(mean_error) < 3 * 0.05 / math.sqrt(NIGHTS)  # one night's estimate has an SD of about 5%
    assert {speedup.start_variance_source for speedup in found[:9]} == {"prior"}
    assert {speedup.start_variance_source for speedup in found[9:]} == {"history"}


def test_a_speedup_of_1_3_is_never_called_not_worth_it(analyzed: list[Analyzed]) -> None:
    words = [word for night in analyzed for word in night.verdicts.values()]
    assert words.count("not_worth_it") == 0
    assert words.count("worth_it") / len(words) > 0.9


def test_acceptance_and_tokens_per_step_are_recovered_exactly(analyzed: list[Analyzed]) -> None:
    for night in analyzed[::20]:
        truth: dict[tuple[int, int], Any] = {}
        for window in NIGHT.windows(night.night):
            truth[window.start_index, window.concurrency] = counter_window(window)
        for row in night.measured:
            counted = truth[row["start_index"], row["concurrency"]]
            assert row["token_count_gap"] == 0
            assert row["engine_steps"] == counted.engine_steps
            assert row["tokens_per_step"] == (counted.generated_tokens - NIGHT.prompts) / counted.engine_steps
            assert row["step_time_ms"] == pytest.approx(1000 * counted.step_seconds / counted.engine_steps)
            if row["is_baseline"]:
                assert (row["acceptance_rate"], row["mean_acceptance_length"], row["tokens_per_step"]) == (
                    None,
                    None,
                    1,
                )
                continue
            assert row["acceptance_rate"] == counted.accepted_tokens / counted.drafted_tokens
            assert row["mean_acceptance_length"] == 1 + counted.accepted_tokens / counted.drafts


def test_what_gains_nothing_is_seldom_called_worth_it(tmp_path: Path) -> None:
    night = replace(NIGHT, decode_speedup=1.0, concurrency=(4,), drift=0.0)
    words = [night.verdicts[4] for night in analyzed_nights(tmp_path, night, nights=NIGHTS // 3)]
    assert words.count("worth_it") / len(words) < 0.025


def close(found: Any, expected: Any) -> bool:
    """Whether two row values agree; Postgres gives a time back in microseconds."""
    return found == (pytest.approx(expected, abs=1e-5) if isinstance(expected, float) else expected)


def test_a_night_through_the_gate_and_the_warehouse_gives_the_same(
    tmp_path: Path, home: Path, database_url: str
) -> None:
    directory = write_night(tmp_path, NIGHT, seed=3)
    load, measured, requests = rows_of(directory)
    sweep_id = load.block.sweep.sweep_id
    ingested = steps.ingest_block(str(directory), report=lambda _: None)
    assert (ingested["state"], ingested["quarantined"], ingested["void"]) == ("published", {}, 0)

    # the rows that the tests above analyzed are those that the warehouse gives back
    engine = open_warehouse(database_url)
    pairs = aa_rows(measured, requests)
    for ours, theirs in (
        (measured, cell_measurements(engine, sweep_id)),
        (requests, paired_requests(engine, sweep_id)),
        (pairs, aa_pairs(engine, sweep_id)),
    ):
        assert len(ours) == len(theirs)
        for mine, row in zip(sorted(ours, key=_place), sorted(theirs, key=_place), strict=True):
            different = {name: (row[name], mine[name]) for name in mine if not close(row[name], mine[name])}
            assert different == {}

    steps.analyze_sweep(sweep_id, report=lambda _: None)
    expected, _ = derive(sweep_id, measured=measured, requests=requests, pairs=pairs, margin=DEFAULT_MARGIN)
    shown = {row["cell_id"]: row for row in sweep_verdicts(engine, sweep_id).to_dict("records")}
    by_cell: dict[str, dict[str, Speedup]] = defaultdict(dict)
    for speedup in expected:
        by_cell[speedup.cell_id][speedup.metric] = speedup
    assert shown.keys() == by_cell.keys()
    for cell_id, row in shown.items():
        latency, throughput = by_cell[cell_id]["latency_speedup"], by_cell[cell_id]["throughput_speedup"]
        assert (row["lower"], row["upper"]) == pytest.approx((latency.lower, latency.upper))
        assert row["throughput_speedup"] == pytest.approx(throughput.estimate)


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("block_id", "start_index", "attempt", "cell_id", "repetition", "prompt_id")
    return tuple(row.get(name, "") for name in names)


# One night of real processes: servers, HTTP, streams, /metrics. The fake vLLM is scripted, so the truth is arithmetic.
OUTPUT_TOKENS = 31
PREFILL_MS, TOKEN_MS, DRAFT_STEP_MS, ACCEPTED = 100, 50, 75, 2
SCRIPT = {
    "PREFILL_MS": str(PREFILL_MS),
    "TOKEN_MS": str(TOKEN_MS),
    "SPECULATIVE_STEP_MS": str(DRAFT_STEP_MS),
    "ACCEPTED": str(ACCEPTED),  # of k = 4, in every draft: a step yields 3 tokens
    "UNDRAFTED": "0",
    "SLOWDOWNS": "1.00,1.05,1.10",  # the machine drifts by 5% from start to start: it cancels
}
BASELINE_DECODE_MS = (OUTPUT_TOKENS - 1) * TOKEN_MS  # 30 steps of 50 ms
ARM_DECODE_MS = (OUTPUT_TOKENS - 1) / (ACCEPTED + 1) * DRAFT_STEP_MS  # 10 steps of 75 ms
SERVED_TRUTH = {
    "decode_speedup": BASELINE_DECODE_MS / ARM_DECODE_MS,  # 2.00
    "latency_speedup": (PREFILL_MS + BASELINE_DECODE_MS) / (PREFILL_MS + ARM_DECODE_MS),  # 1.88
    "throughput_speedup": (PREFILL_MS + BASELINE_DECODE_MS) / (PREFILL_MS + ARM_DECODE_MS),  # all requests are alike
}


def test_a_night_on_real_processes_finds_the_scripted_speedup(
    tmp_path: Path, home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps are due at fixed times, so a request of 1600 ms is late by one delay of the machine: 1% of it is 16 ms."""
    for name, value in (SCRIPT | {"STARTS": str(tmp_path / "starts")}).items():
        monkeypatch.setenv(f"FAKE_VLLM_{name}", value)
    matrix = make_fake_matrix(
        tmp_path,
        changes={
            "prompts: 4": "prompts: 8",
            "output_tokens: 16": f"output_tokens: {OUTPUT_TOKENS}",
            "concurrency: [1, 2]": "concurrency: [4, 8]",
            "repetitions: 2": "repetitions: 1",
        },
    )
    plan = steps.plan_sweep(str(matrix), trigger="test", overrides={"methods": ["ngram-k4"]})
    (block,) = plan["blocks"]
    steps.prepare_block(block, report=lambda _: None)
    steps.bench_block(block, report=lambda _: None, watch_ancestors=False)
    load = steps.ingest_block(block, report=lambda _: None)
    assert (load["state"], load["quarantined"], load["void"]) == ("published", {}, 0)
    steps.analyze_sweep(plan["sweep_id"], report=lambda _: None)

    engine = open_warehouse(database_url)
    with engine.connect() as connection:
        found = connection.execute(text("select metric, lower, estimate, upper from warehouse.speedup")).all()
    assert len(found) == 2 * 3
    for metric, lower, estimate, upper in found:
        assert lower <= SERVED_TRUTH[metric] <= upper, (metric, lower, estimate, upper)
    assert set(sweep_verdicts(engine, plan["sweep_id"])["verdict"]) == {"worth_it"}

    for row in cell_measurements(engine, plan["sweep_id"]):
        assert row["output_tokens"] == row["server_output_tokens"] == 8 * OUTPUT_TOKENS
        if row["is_baseline"]:
            assert (row["drafts"], row["tokens_per_step"]) == (None, 1)
            assert row["step_time_ms"] >= TOKEN_MS * 0.95
        else:
            assert (row["drafts"], row["drafted_tokens"], row["accepted_tokens"]) == (8 * 10, 8 * 40, 8 * 20)
            assert (row["acceptance_rate"], row["mean_acceptance_length"], row["tokens_per_step"]) == (0.5, 3, 3)
