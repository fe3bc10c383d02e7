"""Where requests spent their time, as the server saw it: sums over the window's requests, s.

`queue_time_s` (queued to scheduled), `prefill_time_s` (scheduled to first token), `decode_time_s` (first to last
token), `inference_time_s` (prefill and decode). They sum over requests that ran side by side, so they may
exceed window_s. Source: differences of vllm:request_*_time_seconds_sum; undefined where a release does not count them.
"""

from pipeline.measure.window import MeasuredWindow, Metrics


def server_times(window: MeasuredWindow) -> Metrics:
    """Return the server's four sums."""
    counters = window.counters
    return {
        "queue_time_s": counters.queue_seconds,
        "prefill_time_s": counters.prefill_seconds,
        "decode_time_s": counters.decode_seconds,
        "inference_time_s": counters.inference_seconds,
    }
