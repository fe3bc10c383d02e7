"""Output tokens/s and requests/s over the whole window, ramp-up and tail included (`steady` leaves them out).

Of requests that succeeded, / window_s; undefined when none did. Source: the client's records; tokens from usage.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics


def throughput(window: MeasuredWindow) -> Metrics:
    """Return the window's rates."""
    good = len(window.good)
    return {
        "output_tokens_per_s": ratio(window.output_tokens, window.window_s) if good else None,
        "requests_per_s": ratio(good, window.window_s) if good else None,
    }
