"""Goodput, requests/s: requests that succeeded and kept both promises / window_s.

The promises (TTFT, TPOT) are stored beside the figure. A request without TPOT (one token, or one chunk) is held to TTFT
alone; one that produced no token keeps none. Undefined when no request succeeded: 0 means that some did, too slowly.
Source: the client's records.
"""

from pipeline.domain.request import RequestRecord
from pipeline.domain.slo import Slo
from pipeline.measure.ratio import ratio
from pipeline.measure.requests import tpot_ms, ttft_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def goodput(window: MeasuredWindow) -> Metrics:
    """Return goodput and the limits it was counted under."""
    kept = sum(_keeps(record, window.slo) for record in window.good)
    return {
        "slo_ttft_ms": window.slo.ttft_ms,
        "slo_tpot_ms": window.slo.tpot_ms,
        "goodput_per_s": ratio(kept, window.window_s) if window.good else None,
    }


def _keeps(record: RequestRecord, slo: Slo) -> bool:
    first, later = ttft_ms(record), tpot_ms(record)
    return first is not None and first <= slo.ttft_ms and (later is None or later <= slo.tpot_ms)
