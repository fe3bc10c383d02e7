"""The axis of speedups: logarithmic, because 2x and 0.5x are equally far from no change."""

import pandas as pd

TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0)
COARSE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
MOST_TICKS = 7


def speedup_domain(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the axis that holds every interval, 1.0 and every margin, with 5% of air.

    Intervals beyond 0.1x and 20x are cut at the edge of the plot; their bounds stand in the text beside them.
    """
    values = [1.0, *rows["margin"].dropna(), *rows["lower"].dropna(), *rows["upper"].dropna()]
    return max(min(values) / 1.05, TICKS[0]), min(max(values) * 1.05, TICKS[-1])


def speedup_ticks(domain: tuple[float, float]) -> list[float]:
    """Return round speedups inside `domain`, few enough for their labels not to touch."""
    inside = [tick for tick in TICKS if domain[0] <= tick <= domain[1]]
    return inside if len(inside) <= MOST_TICKS else [tick for tick in inside if tick in COARSE]
