"""End-to-end latency, ms: last chunk with a token - send; and the share of it that went by before the first token.

Over requests that succeeded; undefined when none of them produced a token. `prefill_share` is sum of TTFT / sum of e2e
latency, 0-1: what speculation cannot shorten. Source: the client's records.
"""

from pipeline.measure.distribution import distribution
from pipeline.measure.ratio import defined, ratio
from pipeline.measure.requests import e2e_latency_ms, ttft_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def e2e_latency(window: MeasuredWindow) -> Metrics:
    """Return mean, median and tail of the e2e latency, and the prefill share."""
    values = defined(e2e_latency_ms(record) for record in window.good)
    before = defined(ttft_ms(record) for record in window.good)
    share: Metrics = {"prefill_share": ratio(sum(before), sum(values))}
    return distribution("e2e_latency", values, requests=len(values)) | share
