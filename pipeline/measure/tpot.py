"""Time per output token, ms/token: (last chunk - first chunk) / (output tokens - tokens in the first chunk).

A chunk can hold several tokens, so those of the first one took no decoding time that the client saw. Undefined when no
request has a token after its first chunk (one-token outputs, outputs that came in one chunk). `user_tokens_per_s` is
1000 / the median: what one user reads. Source: the client's records; tokens from usage.
"""

from pipeline.measure.distribution import distribution
from pipeline.measure.ratio import defined, ratio
from pipeline.measure.requests import tpot_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def tpot(window: MeasuredWindow) -> Metrics:
    """Return mean, median and tail of TPOT, and tokens/s as a user sees them."""
    values = defined(tpot_ms(record) for record in window.good)
    found = distribution("tpot", values, requests=len(values))
    return found | {"user_tokens_per_s": ratio(1000.0, found["tpot_median_ms"])}
