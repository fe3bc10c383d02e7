"""How many requests and tokens, and how long.

`requests` and `failed_requests` (with an error class) of the window; `prompt_tokens` and `output_tokens` from the usage
of requests that succeeded, never from counting chunks; `window_s` last end - first send, undefined when nothing was
sent. Source: the client's records.
"""

from pipeline.measure.window import MeasuredWindow, Metrics


def counts(window: MeasuredWindow) -> Metrics:
    """Return the counts of one window."""
    return {
        "requests": len(window.records),
        "failed_requests": len(window.records) - len(window.good),
        "prompt_tokens": sum(record.prompt_tokens or 0 for record in window.good),
        "output_tokens": window.output_tokens,
        "window_s": window.window_s,
    }
