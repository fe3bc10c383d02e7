"""Speedups of one speculative cell over its paired baseline. Greater than 1 is always better."""

import math
from collections.abc import Callable, Sequence

from pipeline.analyze.interval import Interval, bootstrap_variance, combine, resampling_weights
from pipeline.analyze.noise import StartVariance
from pipeline.analyze.pairing import Pairs, brackets, pair, per_token_latency, tpot
from pipeline.analyze.samples import Sample, Window
from pipeline.analyze.throughput import rates
from pipeline.domain.verdict import Speedup, SpeedupMetric

FEWEST_PROMPTS = 2  # one prompt has no spread


def cell_speedups(
    samples: Sequence[Sample],
    windows: Sequence[Window],
    *,
    sweep_id: str,
    cell_id: str,
    hardware_id: str,
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
        _from_pairs(
            pairs, metric, sweep_id=sweep_id, cell_id=cell_id, hardware_id=hardware_id, starts=starts, seed=seed
        )
        for metric, pairs in metrics
    ]
    results.append(
        _throughput(
            latency,
            samples,
            concurrency=_in_flight(windows, cell_id),
            sweep_id=sweep_id,
            cell_id=cell_id,
            hardware_id=hardware_id,
            baseline_cell_id=baseline_cell_id,
            starts=starts,
            seed=seed,
        )
    )
    return [result for result in results if result is not None]


def _in_flight(windows: Sequence[Window], cell_id: str) -> int | None:
    """Requests in flight in the cell's windows: its concurrency, or all prompts when there are fewer.

    None in an open loop: there the rate of arrival sets the tokens/s of both arms, until one cannot keep up.
    """
    closed = [min(w.concurrency, w.requests) for w in windows if w.cell_id == cell_id and w.concurrency is not None]
    return max(closed, default=None)


def _from_pairs(
    pairs: Pairs,
    metric: SpeedupMetric,
    *,
    sweep_id: str,
    cell_id: str,
    hardware_id: str,
    starts: StartVariance,
    seed: int,
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
        interval,
        pairs,
        metric,
        sweep_id=sweep_id,
        cell_id=cell_id,
        hardware_id=hardware_id,
        starts=starts,
        values=values,
        unit="ms/token",
    )


def _throughput(
    pairs: Pairs,
    samples: Sequence[Sample],
    *,
    concurrency: int | None,
    sweep_id: str,
    cell_id: str,
    hardware_id: str,
    baseline_cell_id: str,
    starts: StartVariance,
    seed: int,
) -> tuple[Speedup, Interval] | None:
    """Ratio of output tokens/s of a full loop, over the prompts that the latency speedup pairs."""
    prompts = len(pairs.prompts)
    if prompts < FEWEST_PROMPTS or concurrency is None:
        return None
    found = rates(
        samples,
        pairs.brackets,
        cell_id=cell_id,
        baseline_cell_id=baseline_cell_id,
        prompts=pairs.prompts,
        weights=resampling_weights(prompts, seed=seed),
    )
    interval = combine(
        found.log_speedup,
        prompt_variance=bootstrap_variance(found.resampled, prompts=prompts),
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
        hardware_id=hardware_id,
        starts=starts,
        values=found.tokens_per_s(concurrency),
        unit="tokens/s",
    )


def _speedup(
    interval: Interval,
    pairs: Pairs,
    metric: SpeedupMetric,
    *,
    sweep_id: str,
    cell_id: str,
    hardware_id: str,
    starts: StartVariance,
    values: tuple[float, float],
    unit: str,
) -> tuple[Speedup, Interval]:
    baselines = {start for bracket in pairs.brackets for start, _ in bracket.baselines}
    return (
        Speedup(
            sweep_id=sweep_id,
            cell_id=cell_id,
            hardware_id=hardware_id,
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
