"""Speedups of one speculative cell over its paired baseline. Greater than 1 is always better."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.analyze.interval import Interval, bootstrap_variance, combine, resampling_weights
from pipeline.analyze.noise import StartVariance
from pipeline.analyze.pairing import Bracket, Pairs, brackets, pair, per_token_latency, tpot
from pipeline.analyze.samples import Sample, StartKey, Window
from pipeline.domain.verdict import Speedup, SpeedupMetric

FEWEST_PROMPTS = 2  # one prompt has no spread

Floats = NDArray[np.float64]


def cell_speedups(
    samples: Sequence[Sample],
    windows: Sequence[Window],
    *,
    sweep_id: str,
    cell_id: str,
    baseline_cell_id: str,
    starts: StartVariance,
) -> list[tuple[Speedup, Interval]]:
    """Return latency, decode and throughput speedup of a cell; fewer where a metric is undefined.

    `samples` and `windows` may hold other cells. Empty when there is no bracketing baseline or fewer than two prompts.
    """
    found = brackets(windows, cell_id=cell_id, baseline_cell_id=baseline_cell_id)
    if not found:
        return []
    seed = int(cell_id, 16) & 0xFFFFFFFF

    def paired(value: Callable[[Sample], float | None]) -> Pairs:
        return pair(samples, found, cell_id=cell_id, baseline_cell_id=baseline_cell_id, value=value)

    latency = paired(per_token_latency)
    metrics: tuple[tuple[SpeedupMetric, Pairs], ...] = (("latency_speedup", latency), ("decode_speedup", paired(tpot)))
    results = [
        _from_pairs(pairs, metric, sweep_id=sweep_id, cell_id=cell_id, starts=starts, seed=seed)
        for metric, pairs in metrics
    ]
    rates = _rates(windows, found, cell_id=cell_id, baseline_cell_id=baseline_cell_id)
    results.append(_throughput(latency, rates, sweep_id=sweep_id, cell_id=cell_id, starts=starts, seed=seed))
    return [result for result in results if result is not None]


def _from_pairs(
    pairs: Pairs, metric: SpeedupMetric, *, sweep_id: str, cell_id: str, starts: StartVariance, seed: int
) -> tuple[Speedup, Interval] | None:
    prompts = len(pairs.prompts)
    if prompts < FEWEST_PROMPTS:
        return None
    logs = pairs.baseline_log - pairs.speculative_log
    resampled = resampling_weights(prompts, seed=seed) @ logs / prompts
    interval = combine(
        float(logs.mean()),
        prompt_variance=bootstrap_variance(resampled, prompts=prompts),
        prompts=prompts,
        starts=starts,
        factor=pairs.start_variance_factor,
    )
    values = (math.exp(pairs.baseline_log.mean()), math.exp(pairs.speculative_log.mean()))
    return _speedup(
        interval, pairs, metric, sweep_id=sweep_id, cell_id=cell_id, starts=starts, values=values, unit="ms/token"
    )


def _throughput(
    pairs: Pairs,
    rates: tuple[float, float] | None,
    *,
    sweep_id: str,
    cell_id: str,
    starts: StartVariance,
    seed: int,
) -> tuple[Speedup, Interval] | None:
    """Ratio of output tokens/s over whole windows.

    Its spread over prompts is that of the ratio of summed latencies per token, by the same resampling: in a closed
    loop the window is the sum of its requests over the concurrency.
    """
    prompts = len(pairs.prompts)
    if prompts < FEWEST_PROMPTS or rates is None:
        return None
    weights = resampling_weights(prompts, seed=seed)
    resampled = np.log(weights @ np.exp(pairs.baseline_log)) - np.log(weights @ np.exp(pairs.speculative_log))
    interval = combine(
        math.log(rates[1] / rates[0]),
        prompt_variance=bootstrap_variance(resampled, prompts=prompts),
        prompts=prompts,
        starts=starts,
        factor=pairs.start_variance_factor,
    )
    return _speedup(
        interval,
        pairs,
        "throughput_speedup",
        sweep_id=sweep_id,
        cell_id=cell_id,
        starts=starts,
        values=rates,
        unit="tokens/s",
    )


def _rates(
    windows: Sequence[Window], found: Sequence[Bracket], *, cell_id: str, baseline_cell_id: str
) -> tuple[float, float] | None:
    """Geometric mean over brackets of output tokens/s, (baseline interpolated in time, arm); None without a window."""
    totals: dict[tuple[str, StartKey], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for window in windows:
        if window.cell_id in (cell_id, baseline_cell_id) and window.window_s:
            total = totals[window.cell_id, window.start]
            total[0] += window.output_tokens
            total[1] += window.window_s
    log_rate = {key: math.log(t[0] / t[1]) for key, t in totals.items() if t[0] > 0 and t[1] > 0}
    base, arm = [], []
    for bracket in found:
        sides = [(log_rate.get((baseline_cell_id, start)), weight) for start, weight in bracket.baselines]
        own = log_rate.get((cell_id, bracket.arm))
        if own is None or any(rate is None for rate, _ in sides):
            return None
        arm.append(own)
        base.append(sum(rate * weight for rate, weight in sides if rate is not None))
    return math.exp(float(np.mean(base))), math.exp(float(np.mean(arm)))


def _speedup(
    interval: Interval,
    pairs: Pairs,
    metric: SpeedupMetric,
    *,
    sweep_id: str,
    cell_id: str,
    starts: StartVariance,
    values: tuple[float, float],
    unit: str,
) -> tuple[Speedup, Interval]:

    baselines = {start for bracket in pairs.brackets for start, _ in bracket.baselines}
    return (
        Speedup(
            sweep_id=sweep_id,
            cell_id=cell_id,
            metric=metric,
            estimate=math.exp(interval.log_estimate),
            lower=math.exp(interval.log_lower),
            upper=math.exp(interval.log_upper),
            probability_of_loss=interval.probability_below(0.0),
            degrees_of_freedom=interval.degrees_of_freedom,
            pairs=len(pairs.prompts),
            dropped_prompts=pairs.dropped,
            arm_starts=len(pairs.brackets),
            baseline_starts=len(baselines),
            prompt_variance=interval.prompt_variance,
            start_variance=interval.start_variance,
            start_variance_source=starts.source,
            baseline_value=values[0],
            speculative_value=values[1],
            unit=unit,
        ),
        interval,
    )
