"""Metrics that the load client's records give: counts, times, rates, the client's own health."""

from pipeline.domain.metric import FEWEST_FOR_P90, FEWEST_FOR_P99, Metric

_NOTHING_CAME = "no request produced a token"
_NO_TPOT = "no request has tokens after its first chunk"
_NO_CHUNKS = "no request has two chunks"
_NO_SUCCESS = "no request succeeded"
_P90 = f"fewer than {FEWEST_FOR_P90} requests have one"
_P99 = f"fewer than {FEWEST_FOR_P99} requests have one"
_NO_STEADY = (
    "the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did"
)


def _times(name: str, unit: str, formula: str, undefined: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{name}_mean_ms", unit, f"mean of {formula}", undefined),
        Metric(f"{name}_median_ms", unit, "median of the same", undefined),
        Metric(f"{name}_p90_ms", unit, "90th percentile of the same, between order statistics", _P90),
        Metric(f"{name}_p99_ms", unit, "99th percentile of the same, between order statistics", _P99),
    )


CLIENT_METRICS: tuple[Metric, ...] = (
    Metric("requests", "requests", "requests sent in the window", "never", "count"),
    Metric("failed_requests", "requests", "requests with an error class", "never", "count"),
    Metric("prompt_tokens", "tokens", "sum of usage.prompt_tokens of requests that succeeded", "never", "count"),
    Metric("output_tokens", "tokens", "sum of usage.completion_tokens of requests that succeeded", "never", "count"),
    Metric("window_s", "s", "last end - first send", "no request was sent"),
    Metric("output_tokens_per_s", "tokens/s", "output_tokens / window_s", _NO_SUCCESS),
    Metric("requests_per_s", "requests/s", "succeeded requests / window_s", _NO_SUCCESS),
    *_times("ttft", "ms", "first chunk with a token - send", _NOTHING_CAME),
    *_times("e2e_latency", "ms", "last chunk with a token - send", _NOTHING_CAME),
    *_times("tpot", "ms/token", "(last chunk - first chunk) / (output_tokens - tokens in the first chunk)", _NO_TPOT),
    *_times(
        "inter_chunk_latency",
        "ms",
        "time between chunks with tokens (a chunk can hold several tokens: this is not ITL)",
        _NO_CHUNKS,
    ),
    Metric("tokens_per_chunk", "tokens", "output tokens / chunks with tokens", "no chunk with a token"),
    Metric(
        "user_tokens_per_s", "tokens/s", "1000 / tpot_median_ms: what one user reads after the first token", _NO_TPOT
    ),
    Metric("prefill_share", "1", "sum of TTFT / sum of e2e latency", _NOTHING_CAME),
    Metric(
        "steady_s",
        "s",
        "from the first moment at which the cell's concurrency is in flight to the last one; "
        "in an open loop from the first to the last scheduled send",
        _NO_STEADY,
    ),
    Metric(
        "steady_output_tokens_per_s",
        "tokens/s",
        "tokens whose chunks arrived in the steady part of the window, of requests that succeeded / steady_s",
        _NO_STEADY,
    ),
    Metric("slo_ttft_ms", "ms", "TTFT that goodput_per_s allows", "no limit was stated (loaded by an older release)"),
    Metric(
        "slo_tpot_ms", "ms/token", "TPOT that goodput_per_s allows", "no limit was stated (loaded by an older release)"
    ),
    Metric(
        "goodput_per_s",
        "requests/s",
        "requests that succeeded with TTFT <= slo_ttft_ms and TPOT <= slo_tpot_ms (if it has one) / window_s",
        _NO_SUCCESS,
    ),
    Metric(
        "delivered_concurrency",
        "1",
        "time integral of requests in flight over the steady part / (steady_s x concurrency): below 0.98 marked",
        f"open loop; or {_NO_STEADY}",
    ),
    Metric("send_delay_mean_ms", "ms", "mean of sent - scheduled: what the client came late by", "no request was sent"),
    Metric(
        "client_cpu_share",
        "1",
        "CPU time of the load client / (window_s x its processes): above 0.7 marked",
        "not recorded",
    ),
    Metric(
        "client_busiest_core_share",
        "1",
        "CPU time / wall time of the load client's busiest process: above 0.7 marked",
        "not recorded",
    ),
    Metric(
        "compared_outputs",
        "requests",
        "outputs compared with the reference's of the same prompt",
        "never compared: see identical_share",
        "count",
    ),
    Metric(
        "identical_share",
        "1",
        "outputs equal to the reference's, character by character / compared_outputs; the reference is the opening "
        "baseline's first repetition. Of a closing baseline it is the control",
        "temperature above 0, the reference itself, no opening baseline, or no request succeeded in both",
    ),
    Metric(
        "first_difference_median_chars",
        "characters",
        "median over outputs that differ of the characters before the first that differs",
        "no output differs, or identical_share is undefined",
    ),
    Metric(
        "first_difference_median_tokens",
        "tokens",
        "median over outputs that differ of the tokens in the chunks before the one with the first differing character",
        "no output differs, or the client did not record each chunk's characters",
    ),
)
