"""Pairs: the same prompt in the arm and in the baselines that bracket it, block by block."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from pipeline.analyze.samples import Sample, StartKey, Window

Value = Callable[[Sample], float | None]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bracket:
    """The baselines of one arm start with their weights, which add up to 1."""

    arm: StartKey
    baselines: tuple[tuple[StartKey, float], ...]

    @property
    def variance_factor(self) -> float:
        """How many start variances the difference arm - interpolated baseline carries."""
        return 1.0 + sum(weight**2 for _, weight in self.baselines)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Aligned over prompts: what each arm took, and how many prompts had to leave."""

    prompts: tuple[str, ...]
    baseline_log: Floats  # log of the value, interpolated between brackets, averaged over blocks
    speculative_log: Floats
    dropped: int
    brackets: tuple[Bracket, ...]  # one an arm start

    @property
    def start_variance_factor(self) -> float:
        """Start variances in the mean over brackets."""
        return sum(b.variance_factor for b in self.brackets) / len(self.brackets) ** 2


def per_token_latency(sample: Sample) -> float | None:
    """e2e latency per output token, ms/token: outputs of different length stay comparable."""
    if sample.e2e_latency_ms is None or not sample.output_tokens:
        return None
    return sample.e2e_latency_ms / sample.output_tokens


def tpot(sample: Sample) -> float | None:
    """Time per output token after the first chunk, ms/token."""
    return sample.tpot_ms


def brackets(windows: Sequence[Window], *, cell_id: str, baseline_cell_id: str) -> list[Bracket]:
    """Find for every start of the cell the baselines before and after it in its block, weighted by time.

    An arm between baselines at t0 and t1 takes (t1 - t) / (t1 - t0) of the first: linear drift cancels. With a baseline
    on one side only, that one counts in full.
    """
    times: dict[StartKey, list[float]] = defaultdict(list)
    baselines: dict[str, set[StartKey]] = defaultdict(set)
    arms: set[StartKey] = set()
    for window in windows:
        if window.cell_id == cell_id:
            arms.add(window.start)
        elif window.cell_id == baseline_cell_id:
            baselines[window.start.block_id].add(window.start)
        else:
            continue
        times[window.start].append(window.at_s)
    middle = {start: fmean(at) for start, at in times.items()}
    found = []
    for arm in sorted(arms, key=lambda start: middle[start]):
        around = baselines[arm.block_id]
        before = max((s for s in around if middle[s] <= middle[arm]), key=lambda s: middle[s], default=None)
        after = min((s for s in around if middle[s] > middle[arm]), key=lambda s: middle[s], default=None)
        weights = _weights(before, after, middle=middle, at=middle[arm])
        if weights:
            found.append(Bracket(arm=arm, baselines=weights))
    return found


def _weights(
    before: StartKey | None, after: StartKey | None, *, middle: Mapping[StartKey, float], at: float
) -> tuple[tuple[StartKey, float], ...]:
    if before and after:
        share = (at - middle[before]) / (middle[after] - middle[before])
        return ((before, 1 - share), (after, share))
    one = before or after
    return ((one, 1.0),) if one else ()


def pair(
    samples: Sequence[Sample], found: Sequence[Bracket], *, cell_id: str, baseline_cell_id: str, value: Value
) -> Pairs:
    """Pair `value` over prompts. Repetitions are averaged inside a prompt and start, on the log scale.

    A prompt that failed in either arm, or has no value there, leaves the set and is counted in `dropped`.
    """
    arm_logs = _logs(samples, cell_id=cell_id, value=value)
    baseline_logs = _logs(samples, cell_id=baseline_cell_id, value=value)
    prompts = sorted({sample.prompt_id for sample in samples if sample.cell_id in (cell_id, baseline_cell_id)})
    kept, base, spec = [], [], []
    for prompt in prompts:
        both = _both(prompt, found, arm_logs=arm_logs, baseline_logs=baseline_logs)
        if both is None:
            continue
        kept.append(prompt)
        base.append(both[0])
        spec.append(both[1])
    return Pairs(
        prompts=tuple(kept),
        baseline_log=np.array(base, dtype=np.float64),
        speculative_log=np.array(spec, dtype=np.float64),
        dropped=len(prompts) - len(kept),
        brackets=tuple(found),
    )


Logs = dict[tuple[StartKey, str], float | None]


def _logs(samples: Sequence[Sample], *, cell_id: str, value: Value) -> Logs:
    """Mean log value by (start, prompt); None where any repetition failed or has no value."""
    values: dict[tuple[StartKey, str], list[float | None]] = defaultdict(list)
    for sample in samples:
        if sample.cell_id == cell_id:
            values[sample.start, sample.prompt_id].append(None if sample.failed else value(sample))
    logs: Logs = {}
    for key, seen in values.items():
        good = [math.log(v) for v in seen if v is not None and v > 0]
        logs[key] = fmean(good) if len(good) == len(seen) else None
    return logs


def _both(prompt: str, found: Sequence[Bracket], *, arm_logs: Logs, baseline_logs: Logs) -> tuple[float, float] | None:
    base, spec = [], []
    for bracket in found:
        arm = arm_logs.get((bracket.arm, prompt))
        sides = [(baseline_logs.get((start, prompt)), weight) for start, weight in bracket.baselines]
        if arm is None or any(log is None for log, _ in sides):
            return None
        spec.append(arm)
        base.append(sum(log * weight for log, weight in sides if log is not None))
    return (fmean(base), fmean(spec)) if base else None
