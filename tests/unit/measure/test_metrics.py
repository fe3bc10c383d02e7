"""Metrics from small integers: the arithmetic is visible."""

import pytest

from pipeline.domain.catalogue import METRICS
from pipeline.measure.counters import CounterWindow
from pipeline.measure.metrics import metrics
from pipeline.measure.requests import e2e_latency_ms, inter_chunk_ms, rows, tpot_ms, ttft_ms
from tests.support.values import MS, make_record


def counters(**changes: object) -> CounterWindow:
    values: dict = {
        "generated_tokens": None,
        "drafts": None,
        "drafted_tokens": None,
        "accepted_tokens": None,
        "accepted_per_position": (),
        "preemptions": None,
        "engine_steps": None,
        "step_seconds": None,
    }
    return CounterWindow(**(values | changes))


def test_times_of_one_request() -> None:
    record = make_record(sent_ms=2, chunks=((12, 1), (22, 3), (42, 5)))
    assert ttft_ms(record) == 10
    assert e2e_latency_ms(record) == 40
    assert tpot_ms(record) == 30 / 4
    assert inter_chunk_ms(record) == [10, 20]


def test_tokens_of_the_first_chunk_do_not_count_for_tpot() -> None:
    assert tpot_ms(make_record(chunks=((10, 3), (30, 5)))) == 20 / 2


@pytest.mark.parametrize("chunks", [(), ((10, 1),), ((10, 4),)])
def test_tpot_is_undefined_without_a_token_after_the_first_chunk(chunks: tuple) -> None:
    assert tpot_ms(make_record(chunks=chunks)) is None


def test_a_failed_request_has_no_times() -> None:
    record = make_record(error="timeout")
    assert (ttft_ms(record), e2e_latency_ms(record), tpot_ms(record), inter_chunk_ms(record)) == (None, None, None, [])


def test_every_metric_of_the_catalogue_is_computed() -> None:
    assert metrics([make_record()], counters(), client_cpu_s=0.0).keys() == METRICS.keys()


def test_client_metrics() -> None:
    records = [
        make_record(sent_ms=0, chunks=((10, 1), (30, 3))),
        make_record(sent_ms=10, chunks=((40, 1), (50, 2)), index=1),
        make_record(sent_ms=0, chunks=((5, 1),), error="timeout", end_ns=100 * MS, index=2),
    ]
    found = metrics(records, counters(), client_cpu_s=0.02)
    assert (found["requests"], found["failed_requests"]) == (3, 1)
    assert (found["prompt_tokens"], found["output_tokens"]) == (10, 5)
    assert found["window_s"] == 0.1
    assert found["output_tokens_per_s"] == 50
    assert found["ttft_mean_ms"] == (10 + 30) / 2
    assert found["e2e_latency_mean_ms"] == (30 + 40) / 2
    assert found["tpot_mean_ms"] == (20 / 2 + 10 / 1) / 2
    assert found["tokens_per_chunk"] == 5 / 4
    assert found["prefill_share"] == 40 / 70
    assert found["client_cpu_share"] == pytest.approx(0.2)


def test_speculation_metrics_come_from_counters() -> None:
    found = metrics(
        [make_record(chunks=((10, 1), (20, 9)))],
        counters(generated_tokens=9, drafts=2, drafted_tokens=8, accepted_tokens=6, engine_steps=4, step_seconds=0.2),
        client_cpu_s=0,
    )
    assert found["acceptance_rate"] == 6 / 8
    assert found["mean_acceptance_length"] == 1 + 6 / 2
    assert found["tokens_per_step"] == (9 - 1) / 4  # two of the four steps drafted nothing
    assert found["step_time_ms"] == 50
    assert found["token_count_gap"] == 0


def test_nothing_drafted_is_undefined_and_neither_zero_nor_one() -> None:
    found = metrics([make_record()], counters(drafts=0, drafted_tokens=0, accepted_tokens=0), client_cpu_s=0)
    assert found["acceptance_rate"] is None
    assert found["mean_acceptance_length"] is None


def test_all_failed_is_undefined_and_counted() -> None:
    found = metrics([make_record(error="refused", chunks=())], counters(), client_cpu_s=0)
    assert (found["failed_requests"], found["output_tokens"]) == (1, 0)
    undefined = ("output_tokens_per_s", "ttft_mean_ms", "tpot_mean_ms", "e2e_latency_mean_ms", "prefill_share")
    assert [found[name] for name in undefined] == [None] * len(undefined)


def test_rows_keep_figures_and_a_hash_but_no_text() -> None:
    (row,) = rows([make_record(sent_ms=5)], origin_ns=MS)
    assert row.sent_offset_ms == 4
    assert (row.chunks, row.first_chunk_tokens) == (2, 1)
    assert row.text_hash is not None
    assert not hasattr(row, "text")
