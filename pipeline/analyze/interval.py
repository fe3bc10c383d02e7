"""A 95% interval on the log scale: bootstrap over prompts plus, in quadrature, the variance of server starts."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pipeline.analyze.noise import StartVariance

RESAMPLES = 4000
LEVEL = 0.95

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate on the log scale with what its width is made of."""

    log_estimate: float
    prompt_variance: float
    start_variance: float
    degrees_of_freedom: float

    @property
    def standard_error(self) -> float:
        """Square root of both variances together."""
        return math.sqrt(self.prompt_variance + self.start_variance)

    @property
    def quantile(self) -> float:
        """The two-sided t quantile of the level."""
        return float(special.stdtrit(self.degrees_of_freedom, (1 + LEVEL) / 2))

    @property
    def log_lower(self) -> float:
        """Lower bound on the log scale."""
        return self.log_estimate - self.quantile * self.standard_error

    @property
    def log_upper(self) -> float:
        """Upper bound on the log scale."""
        return self.log_estimate + self.quantile * self.standard_error

    def probability_below(self, log_value: float) -> float:
        """Probability that the true log ratio lies below `log_value`, under the same t distribution."""
        if self.standard_error == 0:
            return float(self.log_estimate < log_value)
        return float(special.stdtr(self.degrees_of_freedom, (log_value - self.log_estimate) / self.standard_error))


@lru_cache(maxsize=4)
def resampling_weights(prompts: int, *, seed: int) -> Floats:
    """Return how often each prompt is drawn in each resample, shape (RESAMPLES, prompts).

    A cell asks for them once a metric: they are drawn once, and not to be written to.
    """
    generator = np.random.default_rng(seed)
    weights = generator.multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES).astype(np.float64)
    weights.flags.writeable = False
    return weights


def bootstrap_variance(resampled: Floats, *, prompts: int) -> float:
    """Variance of a statistic over resamples, with the n / (n - 1) that a bootstrap of few prompts lacks."""
    return float(np.var(resampled)) * prompts / (prompts - 1)


def combine(
    log_estimate: float, *, prompt_variance: float, prompts: int, starts: StartVariance, factor: float
) -> Interval:
    """Add start variance (`factor` starts' worth) in quadrature; degrees of freedom by Welch and Satterthwaite."""
    from_starts = starts.variance * factor
    total = prompt_variance + from_starts
    spread = prompt_variance**2 / (prompts - 1) + from_starts**2 / starts.degrees_of_freedom
    return Interval(
        log_estimate=log_estimate,
        prompt_variance=prompt_variance,
        start_variance=from_starts,
        degrees_of_freedom=total**2 / spread if spread > 0 else float(prompts - 1),
    )
