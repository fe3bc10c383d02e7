"""The same thing counted twice, by client and server, chunks and usage; server times and the KV cache."""

from pipeline.domain.engine import EngineFacts
from pipeline.domain.telemetry import TelemetrySample
from pipeline.measure.cache import cache
from pipeline.measure.counters import CounterWindow
from pipeline.measure.cross_checks import cross_checks
from pipeline.measure.server_times import server_times
from pipeline.measure.vram_tax import vram_tax
from pipeline.measure.window import MeasuredWindow
from tests.support.values import MS, make_record

TWO = [make_record(chunks=((10, 1), (30, 3))), make_record(chunks=((20, 1), (40, 2)), index=1)]


def test_client_and_server_count_the_same_tokens() -> None:
    def gap(generated: int | None) -> object:
        return cross_checks(MeasuredWindow(TWO, counters=CounterWindow(generated_tokens=generated)))["token_count_gap"]

    assert (gap(5), gap(7), gap(None)) == (0, 2, None)


def test_chunks_and_usage_count_the_same_tokens() -> None:
    other = make_record(chunks=((10, 1), (30, 3)), output_tokens=4)
    assert cross_checks(MeasuredWindow(TWO))["chunk_token_gap"] == 0
    assert cross_checks(MeasuredWindow([other]))["chunk_token_gap"] == -1
    assert cross_checks(MeasuredWindow([make_record(chunks=())]))["chunk_token_gap"] is None


def test_the_client_s_ttft_beside_the_server_s() -> None:
    counters = CounterWindow(first_tokens=2, first_token_seconds=0.028)
    found = cross_checks(MeasuredWindow(TWO, counters=counters))
    assert (found["server_ttft_mean_ms"], found["ttft_gap_ms"]) == (14, (10 + 20) / 2 - 14)


def test_ttft_of_other_requests_is_not_compared() -> None:
    counters = CounterWindow(first_tokens=2, first_token_seconds=0.028)
    failed = [TWO[0], make_record(error="timeout")]
    assert cross_checks(MeasuredWindow(failed, counters=counters))["ttft_gap_ms"] is None
    assert cross_checks(MeasuredWindow(TWO[:1], counters=counters))["ttft_gap_ms"] is None


def test_server_times_are_the_counters_sums() -> None:
    counters = CounterWindow(queue_seconds=1.0, prefill_seconds=2.0, decode_seconds=3.0, inference_seconds=5.0)
    assert server_times(MeasuredWindow(TWO, counters=counters)) == {
        "queue_time_s": 1,
        "prefill_time_s": 2,
        "decode_time_s": 3,
        "inference_time_s": 5,
    }


def test_the_kv_cache_s_peak_is_the_highest_of_the_samples_inside_the_window() -> None:
    samples = [
        TelemetrySample(at * MS, kv_cache_usage=usage) for at, usage in ((-1, 0.9), (5, 0.2), (6, None), (7, 0.4))
    ]
    counters = CounterWindow(preemptions=1, prefix_cache_queries=8, prefix_cache_hits=2)
    assert cache(MeasuredWindow(TWO, counters=counters, samples=samples)) == {
        "preemptions": 1,
        "prefix_cache_queries": 8,
        "prefix_cache_hits": 2,
        "prefix_cache_hit_rate": 0.25,
        "kv_cache_usage_peak": 0.4,
    }


def test_prefix_caching_that_is_off_has_no_hit_rate() -> None:
    found = cache(MeasuredWindow(TWO, counters=CounterWindow(prefix_cache_queries=0, prefix_cache_hits=0)))
    assert (found["prefix_cache_hit_rate"], found["kv_cache_usage_peak"]) == (None, None)


def test_the_tax_is_what_a_draft_takes_of_the_baseline_s_memory() -> None:
    found = vram_tax(
        MeasuredWindow(  # 5 prompt tokens, 3 and 2 output tokens: 7.5 a request
            TWO,
            facts=EngineFacts(kv_cache_tokens=85, model_memory_bytes=130),
            baseline_facts=EngineFacts(kv_cache_tokens=100, model_memory_bytes=100),
        )
    )
    assert found == {"model_memory_tax_bytes": 30, "kv_cache_tokens_lost": 15, "users_lost": 2}


def test_a_baseline_and_a_silent_log_have_no_tax() -> None:
    known = EngineFacts(kv_cache_tokens=85, model_memory_bytes=130)
    assert set(vram_tax(MeasuredWindow(TWO, facts=known)).values()) == {None}
    assert set(vram_tax(MeasuredWindow(TWO, baseline_facts=known)).values()) == {None}
