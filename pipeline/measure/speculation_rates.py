"""What speculation does a second: tokens drafted, accepted, and drafted in vain, /s of the window.

Undefined where the release counts no speculation (a baseline). Source: differences of vllm:spec_decode_* / window_s.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics


def speculation_rates(window: MeasuredWindow) -> Metrics:
    """Return drafted, accepted and wasted tokens/s."""
    drafted, accepted = window.counters.drafted_tokens, window.counters.accepted_tokens
    wasted = None if drafted is None or accepted is None else drafted - accepted
    return {
        "drafted_tokens_per_s": ratio(drafted, window.window_s),
        "accepted_tokens_per_s": ratio(accepted, window.window_s),
        "wasted_tokens_per_s": ratio(wasted, window.window_s),
    }
