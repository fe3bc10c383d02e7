"""The same thing counted twice: by the client and by the server, by chunks and by usage.

`server_output_tokens` difference of vllm:generation_tokens_total; `token_count_gap` it - the client's output tokens: 0
unless a request failed, or something else used the server. `chunk_token_gap` cumulative tokens at the last chunks -
usage: 0 when `continuous_usage_stats` and the final usage agree. `server_ttft_mean_ms` from
vllm:time_to_first_token_seconds; `ttft_gap_ms` the client's mean TTFT - it: network, HTTP, and lateness of the client.
Undefined where a counter is absent or the two are not of the same requests.
"""

from pipeline.measure.ratio import defined, mean, ratio
from pipeline.measure.requests import ttft_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def cross_checks(window: MeasuredWindow) -> Metrics:
    """Return the server's figures and how far the client's are from them."""
    counters, generated = window.counters, window.counters.generated_tokens
    seconds = ratio(counters.first_token_seconds, counters.first_tokens)
    server_ttft = None if seconds is None else seconds * 1e3
    counted = [record for record in window.good if record.chunk_tokens and record.output_tokens is not None]
    return {
        "server_output_tokens": generated,
        "token_count_gap": None if generated is None else generated - window.output_tokens,
        "chunk_token_gap": sum(r.chunk_tokens[-1] - (r.output_tokens or 0) for r in counted) if counted else None,
        "server_ttft_mean_ms": server_ttft,
        "ttft_gap_ms": _ttft_gap(window, server_ttft),
    }


def _ttft_gap(window: MeasuredWindow, server_ttft: float | None) -> float | None:
    values = defined(ttft_ms(record) for record in window.good)
    own = mean(values)
    same = len(values) == len(window.records) == window.counters.first_tokens
    return own - server_ttft if same and own is not None and server_ttft is not None else None
