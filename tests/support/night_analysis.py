"""A simulated night through the real measuring and analysis functions, without files: milliseconds a night."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.analyze.interval import Interval
from pipeline.analyze.noise import StartVariance, start_variance
from pipeline.analyze.samples import Sample, StartKey, Window
from pipeline.analyze.speedup import cell_speedups
from pipeline.domain.verdict import Speedup
from pipeline.measure.counters import CounterWindow
from pipeline.measure.metrics import metrics
from pipeline.measure.requests import rows
from tests.support.nights import Counters, Night, NightWindow

PRIOR = start_variance({})


@dataclass(frozen=True)
class Measured:
    """A night as the analysis sees it, for one concurrency."""

    cell_id: str
    baseline_cell_id: str
    samples: list[Sample]
    windows: list[Window]

    def speedups(self, starts: StartVariance = PRIOR) -> dict[str, tuple[Speedup, Interval]]:
        """Return the speedups of the arm by metric."""
        found = cell_speedups(
            self.samples,
            self.windows,
            sweep_id="night",
            cell_id=self.cell_id,
            baseline_cell_id=self.baseline_cell_id,
            starts=starts,
        )
        return {speedup.metric: (speedup, interval) for speedup, interval in found}

    def aa_log_ratios(self) -> dict[str, float]:
        """Return log(closing / opening) of each block, as view noise_floor has it."""
        return {block: aa_log_ratio(self.samples, block=block) for block in {s.start.block_id for s in self.samples}}


def aa_log_ratio(samples: Sequence[Sample], *, block: str) -> float:
    """Log ratio of the mean latency per output token, closing (last start) over opening."""
    last = max(s.start.start_index for s in samples if s.start.block_id == block)

    def level(index: int) -> float:
        return fmean(
            s.e2e_latency_ms / s.output_tokens
            for s in samples
            if (s.start.block_id, s.start.start_index) == (block, index) and s.e2e_latency_ms and s.output_tokens
        )

    return math.log(level(last) / level(0))


def measure_night(night: Night, seed: int) -> dict[int, Measured]:
    """Simulate a night and measure it; return it by concurrency."""
    found = {c: Measured(f"a{c:011x}", f"b{c:011x}", [], []) for c in night.concurrency}
    for window in night.windows(seed):
        _take(found[window.concurrency], window)
    return found


def _take(measured: Measured, window: NightWindow) -> None:
    cell_id = measured.baseline_cell_id if window.is_baseline else measured.cell_id
    start = StartKey(block_id=str(window.block), start_index=window.start_index, attempt=1)
    measured.samples.extend(
        Sample(
            cell_id=cell_id,
            start=start,
            prompt_id=row.prompt_id,
            e2e_latency_ms=row.e2e_latency_ms,
            tpot_ms=row.tpot_ms,
            output_tokens=row.output_tokens,
            failed=row.error is not None,
        )
        for row in rows(window.records, origin_ns=0)
    )
    values: Mapping[str, float | int | None] = metrics(window.records, counter_window(window), client_cpu_s=0.0)
    measured.windows.append(
        Window(
            cell_id=cell_id,
            start=start,
            is_baseline=window.is_baseline,
            at_s=window.at_s,
            concurrency=window.concurrency,
            requests=int(values["requests"] or 0),
        )
    )


def counter_window(window: NightWindow) -> CounterWindow:
    """Return the true counter differences of a window."""
    return CounterWindow(
        generated_tokens=window.after.generated_tokens - window.before.generated_tokens,
        drafts=None if window.is_baseline else window.after.drafts - window.before.drafts,
        drafted_tokens=None if window.is_baseline else window.after.drafted_tokens - window.before.drafted_tokens,
        accepted_tokens=None if window.is_baseline else window.after.accepted_tokens - window.before.accepted_tokens,
        accepted_per_position=_positions(window.before, window.after),
        preemptions=0,
        engine_steps=window.after.engine_steps - window.before.engine_steps,
        step_seconds=window.after.step_seconds - window.before.step_seconds,
    )


def _positions(before: Counters, after: Counters) -> tuple[int, ...]:
    first = (*before.accepted_per_position, *(0,) * len(after.accepted_per_position))
    return tuple(last - first[i] for i, last in enumerate(after.accepted_per_position))


def coverage(night: Night, *, nights: Iterable[int], concurrency: int = 1) -> dict[str, float]:
    """Return for each speedup in what share of nights its interval contains the truth."""
    truth = night.truth(concurrency)
    seeds = list(nights)
    held = dict.fromkeys(truth, 0)
    for seed in seeds:
        for metric, (speedup, _) in measure_night(night, seed)[concurrency].speedups().items():
            held[metric] += speedup.lower <= truth[metric] <= speedup.upper
    return {metric: count / len(seeds) for metric, count in held.items()}
