"""The limits that goodput is counted under, and from which point on a repetition is marked.

Each limit is stored with, or stated beside, every number it made.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slo:
    """What a user is promised of one request (service level objectives)."""

    ttft_ms: float
    tpot_ms: float


# MLPerf Inference v5.0 asks this of an interactive Llama 2 70B (there at the 99th percentile, here of each request).
DEFAULT_SLO = Slo(ttft_ms=450.0, tpot_ms=40.0)
