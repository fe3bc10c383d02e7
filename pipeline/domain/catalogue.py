"""The metric catalogue: name, unit, formula, and when a metric is undefined. The warehouse's columns follow it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a measurement."""

    name: str
    unit: str
    formula: str
    undefined: str  # when it is None
    kind: Literal["count", "real"] = "real"


CATALOGUE: tuple[Metric, ...] = (
    Metric("requests", "requests", "requests sent in the window", "never", "count"),
    Metric("failed_requests", "requests", "requests with an error class", "never", "count"),
    Metric("prompt_tokens", "tokens", "sum of usage.prompt_tokens of requests that succeeded", "never", "count"),
    Metric(
        "output_tokens",
        "tokens",
        "sum of usage.completion_tokens of requests that succeeded",
        "never",
        "count",
    ),
    Metric("window_s", "s", "last end - first send", "no request was sent"),
    Metric("output_tokens_per_s", "tokens/s", "output_tokens / window_s", "no request succeeded"),
    Metric("requests_per_s", "requests/s", "succeeded requests / window_s", "no request succeeded"),
    Metric("ttft_mean_ms", "ms", "mean of first chunk with a token - send", "no request produced a token"),
    Metric("ttft_median_ms", "ms", "median of the same", "no request produced a token"),
    Metric("e2e_latency_mean_ms", "ms", "mean of last chunk with a token - send", "no request produced a token"),
    Metric("e2e_latency_median_ms", "ms", "median of the same", "no request produced a token"),
    Metric(
        "tpot_mean_ms",
        "ms/token",
        "mean over requests of (last chunk - first chunk) / (output_tokens - tokens in the first chunk)",
        "no request has tokens after its first chunk",
    ),
    Metric("tpot_median_ms", "ms/token", "median of the same", "no request has tokens after its first chunk"),
    Metric(
        "inter_chunk_latency_mean_ms",
        "ms",
        "mean time between chunks with tokens (a chunk can hold several tokens: this is not ITL)",
        "no request has two chunks",
    ),
    Metric("tokens_per_chunk", "tokens", "output tokens / chunks with tokens", "no chunk with a token"),
    Metric("prefill_share", "1", "sum of TTFT / sum of e2e latency", "no request produced a token"),
    Metric(
        "server_output_tokens",
        "tokens",
        "difference of vllm:generation_tokens_total",
        "counter absent",
        "count",
    ),
    Metric(
        "engine_steps",
        "steps",
        "difference of vllm:inter_token_latency_seconds_count: one sample a step and request, not a token",
        "counter absent (before 0.10.2)",
        "count",
    ),
    Metric(
        "drafts",
        "drafts",
        "difference of vllm:spec_decode_num_drafts_total",
        "no speculation counters",
        "count",
    ),
    Metric(
        "drafted_tokens",
        "tokens",
        "difference of vllm:spec_decode_num_draft_tokens_total",
        "no speculation counters",
        "count",
    ),
    Metric(
        "accepted_tokens",
        "tokens",
        "difference of vllm:spec_decode_num_accepted_tokens_total",
        "no speculation counters",
        "count",
    ),
    Metric("acceptance_rate", "1", "accepted_tokens / drafted_tokens", "nothing was drafted"),
    Metric("mean_acceptance_length", "tokens", "1 + accepted_tokens / drafts (bonus token counted)", "no drafts"),
    Metric(
        "tokens_per_step",
        "tokens",
        "(server_output_tokens - requests) / engine_steps: steps without a draft count",
        "no engine step was counted",
    ),
    Metric(
        "step_time_ms",
        "ms",
        "1000 x difference of vllm:inter_token_latency_seconds_sum / engine_steps",
        "no engine step was counted",
    ),
    Metric("preemptions", "requests", "difference of vllm:num_preemptions_total", "counter absent", "count"),
    Metric(
        "client_cpu_share",
        "1",
        "CPU time of the load client / window_s: above 0.7 the client may be the bottleneck",
        "not recorded",
    ),
    Metric(
        "token_count_gap",
        "tokens",
        "server_output_tokens - output_tokens: 0 unless a request failed or something else used the server",
        "counter absent",
        "count",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in CATALOGUE}
