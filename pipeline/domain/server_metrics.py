"""Metrics that the server's counters give, as differences over the window, and what they say beside the client's."""

from pipeline.domain.metric import Metric

_ABSENT = "counter absent"
_NO_COUNTERS = "no speculation counters"
_NO_STEP = "no engine step was counted"

SERVER_METRICS: tuple[Metric, ...] = (
    Metric("server_output_tokens", "tokens", "difference of vllm:generation_tokens_total", _ABSENT, "count"),
    Metric(
        "engine_steps",
        "steps",
        "difference of vllm:inter_token_latency_seconds_count (before 0.10.2 vllm:time_per_output_token_seconds_count)"
        ": one sample a step and request, not a token",
        _ABSENT,
        "count",
    ),
    Metric("queue_time_s", "s", "difference of vllm:request_queue_time_seconds_sum: over requests", _ABSENT),
    Metric("prefill_time_s", "s", "difference of vllm:request_prefill_time_seconds_sum: over requests", _ABSENT),
    Metric("decode_time_s", "s", "difference of vllm:request_decode_time_seconds_sum: over requests", _ABSENT),
    Metric(
        "inference_time_s",
        "s",
        "difference of vllm:request_inference_time_seconds_sum: over requests, prefill and decode",
        _ABSENT,
    ),
    Metric("drafts", "drafts", "difference of vllm:spec_decode_num_drafts_total", _NO_COUNTERS, "count"),
    Metric("drafted_tokens", "tokens", "difference of vllm:spec_decode_num_draft_tokens_total", _NO_COUNTERS, "count"),
    Metric(
        "accepted_tokens", "tokens", "difference of vllm:spec_decode_num_accepted_tokens_total", _NO_COUNTERS, "count"
    ),
    Metric("acceptance_rate", "1", "accepted_tokens / drafted_tokens", "nothing was drafted"),
    Metric("mean_acceptance_length", "tokens", "1 + accepted_tokens / drafts (bonus token counted)", "no drafts"),
    Metric(
        "per_token_acceptance",
        "1",
        "the a that solves a + a^2 + ... + a^k = accepted_tokens / drafts, k = drafted_tokens / drafts: "
        "the theory's chance that one token holds",
        "no drafts, or more accepted than drafted",
    ),
    Metric("drafted_tokens_per_s", "tokens/s", "drafted_tokens / window_s", _NO_COUNTERS),
    Metric("accepted_tokens_per_s", "tokens/s", "accepted_tokens / window_s", _NO_COUNTERS),
    Metric("wasted_tokens_per_s", "tokens/s", "(drafted_tokens - accepted_tokens) / window_s", _NO_COUNTERS),
    Metric(
        "tokens_per_step",
        "tokens",
        "(server_output_tokens - requests) / engine_steps: steps without a draft count",
        _NO_STEP,
    ),
    Metric(
        "step_time_ms",
        "ms",
        "1000 x difference of the _sum beside engine_steps' _count / engine_steps",
        _NO_STEP,
    ),
    Metric("preemptions", "requests", "difference of vllm:num_preemptions_total", _ABSENT, "count"),
    Metric(
        "kv_cache_usage_peak",
        "1",
        "highest vllm:kv_cache_usage_perc (before 0.9.2 vllm:gpu_cache_usage_perc) seen in the window, asked "
        "every few s; of several engines the fullest",
        "not sampled: no telemetry, or a window shorter than the time to the first question",
    ),
    Metric(
        "prefix_cache_queries",
        "tokens",
        "difference of vllm:prefix_cache_queries_total (or of its old name vllm:gpu_prefix_cache_queries_total, "
        "which first counted blocks)",
        _ABSENT,
        "count",
    ),
    Metric(
        "prefix_cache_hits",
        "tokens",
        "difference of vllm:prefix_cache_hits_total (or of vllm:gpu_prefix_cache_hits_total)",
        _ABSENT,
        "count",
    ),
    Metric("prefix_cache_hit_rate", "1", "prefix_cache_hits / prefix_cache_queries", "nothing was looked up"),
    Metric(
        "model_memory_tax_bytes",
        "bytes",
        "weights as loaded by this start - by the block's opening baseline (closing, if that said nothing)",
        "a baseline; or one of the two logs does not say",
        "count",
    ),
    Metric(
        "kv_cache_tokens_lost",
        "tokens",
        "KV cache tokens of the block's opening baseline (closing, if that said nothing) - of this start",
        "a baseline; or one of the two logs does not say",
        "count",
    ),
    Metric(
        "users_lost",
        "users",
        "kv_cache_tokens_lost / mean prompt + output tokens of this window's requests",
        "as kv_cache_tokens_lost; or no request succeeded",
    ),
    Metric(
        "token_count_gap",
        "tokens",
        "server_output_tokens - output_tokens: 0 unless a request failed or something else used the server",
        _ABSENT,
        "count",
    ),
    Metric(
        "chunk_token_gap",
        "tokens",
        "sum of cumulative tokens at the last chunk - output_tokens, of requests that succeeded: "
        "0 when chunks and usage agree",
        "no request succeeded with a chunk that counted tokens",
        "count",
    ),
    Metric(
        "server_ttft_mean_ms",
        "ms",
        "1000 x difference of vllm:time_to_first_token_seconds_sum / of its _count",
        "no first token was counted",
    ),
    Metric(
        "ttft_gap_ms",
        "ms",
        "ttft_mean_ms - server_ttft_mean_ms: network, HTTP, and the client's own lateness",
        "either is undefined, or a request failed: then they are not of the same requests",
    ),
)
