"""One repetition -> the metrics of the catalogue. Undefined is None, never 0 or NaN."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from pipeline.domain.catalogue import METRICS
from pipeline.domain.request import RequestRecord
from pipeline.measure.counters import CounterWindow
from pipeline.measure.requests import e2e_latency_ms, inter_chunk_ms, tpot_ms, ttft_ms

Metrics = dict[str, float | int | None]


def metrics(records: Sequence[RequestRecord], counters: CounterWindow, *, client_cpu_s: float) -> Metrics:
    """Return every metric of the catalogue for one window (pipeline.domain.catalogue has the formulas)."""
    return dict.fromkeys(METRICS) | _client(records, client_cpu_s=client_cpu_s) | _server(records, counters)


def _client(records: Sequence[RequestRecord], *, client_cpu_s: float) -> Metrics:
    good = [record for record in records if not record.failed]
    ttfts = _defined(ttft_ms(record) for record in good)
    latencies = _defined(e2e_latency_ms(record) for record in good)
    tpots = _defined(tpot_ms(record) for record in good)
    gaps = [gap for record in good for gap in inter_chunk_ms(record)]
    output_tokens = sum(record.output_tokens or 0 for record in good)
    chunks = sum(len(record.chunk_tokens) for record in good)
    window_s = (max(r.end_ns for r in records) - min(r.sent_ns for r in records)) / 1e9 if records else None
    return {
        "requests": len(records),
        "failed_requests": len(records) - len(good),
        "prompt_tokens": sum(record.prompt_tokens or 0 for record in good),
        "output_tokens": output_tokens,
        "window_s": window_s,
        "output_tokens_per_s": _ratio(output_tokens, window_s) if good else None,
        "requests_per_s": _ratio(len(good), window_s) if good else None,
        "ttft_mean_ms": _mean(ttfts),
        "ttft_median_ms": median(ttfts) if ttfts else None,
        "e2e_latency_mean_ms": _mean(latencies),
        "e2e_latency_median_ms": median(latencies) if latencies else None,
        "tpot_mean_ms": _mean(tpots),
        "tpot_median_ms": median(tpots) if tpots else None,
        "inter_chunk_latency_mean_ms": _mean(gaps),
        "tokens_per_chunk": _ratio(output_tokens, chunks),
        "prefill_share": _ratio(sum(ttfts), sum(latencies)),
        "client_cpu_share": _ratio(client_cpu_s, window_s),
    }


def _server(records: Sequence[RequestRecord], counters: CounterWindow) -> Metrics:
    steps, generated = counters.engine_steps, counters.generated_tokens
    seen = sum(record.output_tokens or 0 for record in records if not record.failed)
    return {
        "server_output_tokens": generated,
        "engine_steps": steps,
        "drafts": counters.drafts,
        "drafted_tokens": counters.drafted_tokens,
        "accepted_tokens": counters.accepted_tokens,
        "acceptance_rate": _ratio(counters.accepted_tokens, counters.drafted_tokens),
        "mean_acceptance_length": _acceptance_length(counters),
        # steps in which nothing was drafted count here and not in drafts: 1 + accepted / drafts would overstate
        "tokens_per_step": None if generated is None else _ratio(generated - len(records), steps),
        "step_time_ms": _ratio(None if counters.step_seconds is None else counters.step_seconds * 1e3, steps),
        "preemptions": counters.preemptions,
        "token_count_gap": None if generated is None else generated - seen,
    }


def _acceptance_length(counters: CounterWindow) -> float | None:
    """1 + accepted / drafts, as vLLM counts it (the bonus token included); None without a draft."""
    accepted_a_draft = _ratio(counters.accepted_tokens, counters.drafts)
    return None if accepted_a_draft is None else 1 + accepted_a_draft


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _defined(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
