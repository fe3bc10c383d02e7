"""Counts, rates and times of a window, as the client saw them."""

from pipeline.domain.request import ClientFacts
from pipeline.domain.slo import Slo
from pipeline.measure.client import client
from pipeline.measure.counts import counts
from pipeline.measure.e2e_latency import e2e_latency
from pipeline.measure.goodput import goodput
from pipeline.measure.inter_chunk_latency import inter_chunk_latency
from pipeline.measure.throughput import throughput
from pipeline.measure.tpot import tpot
from pipeline.measure.ttft import ttft
from pipeline.measure.window import MeasuredWindow
from tests.support.values import MS, make_record

RECORDS = [
    make_record(sent_ms=0, chunks=((10, 1), (30, 3))),
    make_record(sent_ms=10, chunks=((40, 1), (50, 2)), index=1),
    make_record(sent_ms=0, chunks=((5, 1),), error="timeout", end_ns=100 * MS, index=2),
]
WINDOW = MeasuredWindow(RECORDS)
FAILED = MeasuredWindow([make_record(error="refused", chunks=())])


def test_counts_leave_failed_requests_out_of_tokens_and_in_the_window() -> None:
    assert counts(WINDOW) == {
        "requests": 3,
        "failed_requests": 1,
        "prompt_tokens": 10,
        "output_tokens": 5,
        "window_s": 0.1,
    }


def test_rates_are_of_requests_that_succeeded() -> None:
    assert throughput(WINDOW) == {"output_tokens_per_s": 50, "requests_per_s": 20}
    assert throughput(FAILED) == {"output_tokens_per_s": None, "requests_per_s": None}


def test_times() -> None:
    assert ttft(WINDOW)["ttft_mean_ms"] == (10 + 30) / 2
    assert e2e_latency(WINDOW)["e2e_latency_mean_ms"] == (30 + 40) / 2
    assert e2e_latency(WINDOW)["prefill_share"] == 40 / 70
    assert tpot(WINDOW)["tpot_mean_ms"] == (20 / 2 + 10 / 1) / 2
    assert tpot(WINDOW)["user_tokens_per_s"] == 1000 / 10


def test_multi_token_and_merged_chunks_are_counted_by_their_tokens() -> None:
    found = inter_chunk_latency(WINDOW)
    assert (found["tokens_per_chunk"], found["inter_chunk_latency_mean_ms"]) == (5 / 4, (20 + 10) / 2)


def test_all_failed_is_undefined() -> None:
    undefined = ttft(FAILED) | e2e_latency(FAILED) | tpot(FAILED) | inter_chunk_latency(FAILED)
    assert set(undefined.values()) == {None}


def test_one_token_outputs_have_no_tpot() -> None:
    assert set(tpot(MeasuredWindow([make_record(chunks=((10, 1),))])).values()) == {None}


def test_goodput_counts_requests_that_keep_both_limits() -> None:
    def good(ttft_ms: float, tpot_ms: float) -> float | None:
        return goodput(MeasuredWindow(RECORDS, slo=Slo(ttft_ms, tpot_ms)))["goodput_per_s"]

    assert good(30, 10) == 2 / 0.1
    assert good(29, 10) == 1 / 0.1  # the second came late
    assert good(30, 9) == 0  # 0 is a figure: they succeeded, too slowly


def test_goodput_holds_a_request_of_one_token_to_its_first_token_alone() -> None:
    one = MeasuredWindow([make_record(chunks=((10, 1),))], slo=Slo(10, 0.1))
    assert goodput(one)["goodput_per_s"] == 1 / 0.01


def test_goodput_is_stored_with_its_limits_and_undefined_when_all_failed() -> None:
    assert goodput(FAILED) == {"slo_ttft_ms": 450, "slo_tpot_ms": 40, "goodput_per_s": None}


def test_the_client_s_cpu_is_a_share_of_the_cores_it_ran_on() -> None:
    facts = ClientFacts(cpu_s=0.12, processes=2, busiest_core_share=0.8)
    found = client(MeasuredWindow(RECORDS, client=facts))
    assert (found["client_cpu_share"], found["client_busiest_core_share"]) == (0.12 / 0.1 / 2, 0.8)
    assert client(WINDOW)["client_cpu_share"] is None


def test_the_client_is_late_by_what_lies_between_schedule_and_send() -> None:
    late = [make_record(sent_ms=3, scheduled_ns=MS), make_record()]
    assert client(MeasuredWindow(late))["send_delay_mean_ms"] == (2 + 0) / 2
