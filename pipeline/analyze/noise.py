"""How much two starts of the same server differ: the variance that repetitions inside a start cannot show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

# Start-to-start coefficient of variation on machines measured before any history exists: 2-4% (docs/statistics.md)
PRIOR_START_SD = 0.03
PRIOR_WEIGHT = 10  # the prior counts as much as ten A/A pairs
PAIRS_FOR_HISTORY = 10
_MAD_TO_SD = 1.4826
_BEND = 2.5  # standard deviations beyond which a ratio counts as being there
_BENT_VARIANCE = 0.977560  # E[min(|x|, 2.5)^2] of a standard normal x
_ITERATIONS = 50


@dataclass(frozen=True, slots=True)
class StartVariance:
    """Variance of one server start's log level, and how sure it is."""

    variance: float
    degrees_of_freedom: int
    source: Literal["prior", "history"]
    pairs: int  # blocks with both baselines


def start_variance(aa_log_ratios: Mapping[str, Sequence[float]]) -> StartVariance:
    """Estimate the start variance from A/A pairs: for every block the log ratios closing / opening of its cells.

    The cells of a block share two server starts, so a block is one pair; its square is the mean over its cells. Each
    log ratio is the difference of two starts, hence the half. With fewer than ten pairs the prior is updated by them
    (scaled inverse chi-squared). From ten pairs on it is their own variance, with what lies beyond 2.5 standard
    deviations counted as 2.5 (Huber): a broken night moves it little, and it is nearly as sure as the mean square.
    """
    squares = [fmean(r * r for r in ratios) for ratios in aa_log_ratios.values() if ratios]
    pairs = len(squares)
    if pairs < PAIRS_FOR_HISTORY:
        total = PRIOR_WEIGHT * PRIOR_START_SD**2 + sum(squares) / 2
        weight = PRIOR_WEIGHT + pairs
        return StartVariance(variance=total / weight, degrees_of_freedom=weight, source="prior", pairs=pairs)
    return StartVariance(variance=_bent_variance(squares) / 2, degrees_of_freedom=pairs, source="history", pairs=pairs)


def _bent_variance(squares: Sequence[float]) -> float:
    """Huber's variance about 0 of values whose squares are given; starts from the median absolute value."""
    variance = (_MAD_TO_SD * median(math.sqrt(square) for square in squares)) ** 2
    for _ in range(_ITERATIONS):
        variance = fmean(min(square, _BEND**2 * variance) for square in squares) / _BENT_VARIANCE
    return variance
