"""Output tokens/s of a loop that stays full: tokens over the time that requests held their places in it.

A window's own rate (tokens / window) depends on how it ends: with 8 prompts at concurrency 4, places stand empty while
the longest request of the last wave runs, in each arm by another amount. In simulated nights an interval around that
rate held the truth in 54-87% of them (docs/adr/0005). By Little's law a loop that keeps `concurrency` requests in
flight yields concurrency x E[tokens] / E[latency]; both means are over prompts, so prompts can be resampled.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.analyze.pairing import Bracket
from pipeline.analyze.samples import Sample, StartKey

Floats = NDArray[np.float64]
_MS_PER_S = 1e3


@dataclass(frozen=True, slots=True)
class Held:
    """What the requests of one server start and cell added up to, aligned over prompts."""

    tokens: Floats
    latency_ms: Floats

    def log_rate(self, weights: Floats) -> Floats:
        """Log of tokens per ms of a place in the loop, for every row of `weights` (how often each prompt counts)."""
        return np.log(weights @ self.tokens) - np.log(weights @ self.latency_ms)


@dataclass(frozen=True, slots=True)
class Rates:
    """Log rates of both arms over resamples of prompts; the last row holds every prompt once."""

    baseline_log: Floats
    speculative_log: Floats

    @property
    def log_speedup(self) -> float:
        """Speculative over baseline, every prompt once."""
        return float(self.speculative_log[-1] - self.baseline_log[-1])

    @property
    def resampled(self) -> Floats:
        """Log speedup of every resample."""
        speedups: Floats = (self.speculative_log - self.baseline_log)[:-1]
        return speedups

    def tokens_per_s(self, concurrency: int) -> tuple[float, float]:
        """Output tokens/s of (baseline, arm) with `concurrency` requests in flight."""
        return (
            concurrency * _MS_PER_S * math.exp(self.baseline_log[-1]),
            concurrency * _MS_PER_S * math.exp(self.speculative_log[-1]),
        )


def rates(
    samples: Sequence[Sample],
    found: Sequence[Bracket],
    *,
    cell_id: str,
    baseline_cell_id: str,
    prompts: Sequence[str],
    weights: Floats,
) -> Rates:
    """Return the rates of a cell and of the baselines that bracket it, as a geometric mean over brackets.

    `prompts` are those that succeeded everywhere, with tokens; `weights` has one row a resample, one column a prompt.
    """
    arm_held = _held(samples, cell_id=cell_id, prompts=prompts)
    baseline_held = _held(samples, cell_id=baseline_cell_id, prompts=prompts)
    rows = np.vstack([weights, np.ones(len(prompts))])
    arms, baselines = [], []
    for bracket in found:
        arms.append(arm_held[bracket.arm].log_rate(rows))
        sides = [baseline_held[start].log_rate(rows) * share for start, share in bracket.baselines]
        baselines.append(np.sum(sides, axis=0))
    return Rates(baseline_log=np.mean(baselines, axis=0), speculative_log=np.mean(arms, axis=0))


def _held(samples: Sequence[Sample], *, cell_id: str, prompts: Sequence[str]) -> dict[StartKey, Held]:
    """Sum tokens and latency over repetitions, by start."""
    column = {prompt: i for i, prompt in enumerate(prompts)}
    sums: dict[StartKey, Floats] = defaultdict(lambda: np.zeros((2, len(prompts))))
    for sample in samples:
        if sample.cell_id == cell_id and sample.prompt_id in column:
            sums[sample.start][:, column[sample.prompt_id]] += (sample.output_tokens or 0, sample.e2e_latency_ms or 0.0)
    return {start: Held(tokens=both[0], latency_ms=both[1]) for start, both in sums.items()}
