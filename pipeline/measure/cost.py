"""What a million output tokens cost, USD: price of a GPU-hour x GPUs x window_s / 3600 / output tokens x 1e6.

The price is stated by whoever ingests (SPECWATCH_USD_PER_GPU_HOUR) and stored beside the figure; the whole window is
paid for, ramp-up and tail too. Undefined without a price, without a GPU, or without an output token.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics

_S_PER_HOUR = 3600.0


def cost(window: MeasuredWindow) -> Metrics:
    """Return the price of a GPU-hour and of a million output tokens."""
    price = window.usd_per_gpu_hour if window.gpus else None
    spent = None if price is None or window.window_s is None else price * window.gpus * window.window_s / _S_PER_HOUR
    a_token = ratio(spent, window.output_tokens)
    return {
        "usd_per_gpu_hour": price,
        "usd_per_million_output_tokens": None if a_token is None else a_token * 1e6,
    }
