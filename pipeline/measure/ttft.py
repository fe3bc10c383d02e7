"""Time to first token, ms: first chunk with a token - send.

A first chunk that holds only the role is none; a reasoning delta is a token. Over requests that succeeded; undefined
when none of them produced a token. Source: the client's records.
"""

from pipeline.measure.distribution import distribution
from pipeline.measure.ratio import defined
from pipeline.measure.requests import ttft_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def ttft(window: MeasuredWindow) -> Metrics:
    """Return mean, median and tail of TTFT."""
    values = defined(ttft_ms(record) for record in window.good)
    return distribution("ttft", values, requests=len(values))
