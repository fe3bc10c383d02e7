"""Mean, median and tail of a time over requests: the tail only where there are enough requests to speak of one."""

from collections.abc import Sequence

import numpy as np

from pipeline.domain.metric import FEWEST_FOR_P90, FEWEST_FOR_P99
from pipeline.measure.ratio import mean
from pipeline.measure.window import Metrics


def distribution(name: str, values: Sequence[float], *, requests: int) -> Metrics:
    """Return NAME_mean_ms, NAME_median_ms, NAME_p90_ms and NAME_p99_ms of `values` (ms) that came from `requests`.

    Percentiles lie between order statistics (linear). p90 is undefined below 100 requests and p99 below 1,000, however
    many values each request gave: values of one request are alike.
    """
    median, p90, p99 = np.percentile(values, (50, 90, 99)).tolist() if values else (None, None, None)
    return {
        f"{name}_mean_ms": mean(values),
        f"{name}_median_ms": median,
        f"{name}_p90_ms": p90 if requests >= FEWEST_FOR_P90 else None,
        f"{name}_p99_ms": p99 if requests >= FEWEST_FOR_P99 else None,
    }
