"""A simulated night through the real measuring and analysis functions, without files: milliseconds a night."""

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
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
from pipeline.measure.window import MeasuredWindow
from tests.support.night_server import Counters
from tests.support.nights import Night, NightWindow

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
            hardware_id="gpu",
            baseline_cell_id=self.baseline_cell_id,
            starts=starts,
        )
        return {speedup.metric: (speedup, interval) for speedup, interval in found}

    def aa_log_ratios(self) -> dict[str, float]:
        """Return the A/A log ratio of each block."""
        blocks: dict[str, list[tuple[int, float | None, int | None]]] = defaultdict(list)
        for s in self.samples:
            if s.cell_id == self.baseline_cell_id:
                blocks[s.start.block_id].append((s.start.start_index, s.e2e_latency_ms, s.output_tokens))
        return {block: aa_log_ratio(requests) for block, requests in blocks.items()}


def aa_log_ratio(requests: Sequence[tuple[int, float | None, int | None]]) -> float:
    """Return log(closing / opening) of the mean latency per output token, as view noise_floor has it.

    `requests` are (start index, latency in ms, output tokens) of one baseline cell in one block.
    """
    opening, closing = (
        fmean(ms / tokens for index, ms, tokens in requests if index == start and ms and tokens)
        for start in (0, max(index for index, _, _ in requests))
    )
    return math.log(closing / opening)


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
        for row in rows(window.records, origin_ns=0, phases=[None] * len(window.records))
    )
    values: Mapping[str, float | int | None] = metrics(
        MeasuredWindow(records=window.records, counters=counter_window(window), concurrency=window.concurrency)
    )
    measured.windows.append(
        Window(
            cell_id=cell_id,
            start=start,
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


def nights_in_a_row(
    night: Night, *, nights: int, history: int, concurrency: int
) -> Iterator[tuple[Measured, StartVariance]]:
    """Yield `nights` nights, each with the start variance known by then: of its own A/A pairs and `history` before it.

    The nights that only serve as history are not yielded.
    """
    past: deque[list[float]] = deque(maxlen=history)
    for seed in range(nights + history):
        measured = measure_night(night, seed)[concurrency]
        tonight = measured.aa_log_ratios()
        if len(past) == history:
            before = {f"night -{age}/{i}": [r] for age, pairs in enumerate(past) for i, r in enumerate(pairs)}
            yield measured, start_variance(before | {block: [ratio] for block, ratio in tonight.items()})
        past.append(list(tonight.values()))


def coverage(night: Night, *, nights: int, history: int, concurrency: int) -> dict[str, float]:
    """Return for each speedup in what share of nights its interval contains the truth."""
    truth = night.truth(concurrency)
    held = dict.fromkeys(truth, 0)
    for measured, starts in nights_in_a_row(night, nights=nights, history=history, concurrency=concurrency):
        for metric, (speedup, _) in measured.speedups(starts).items():
            held[metric] += speedup.lower <= truth[metric] <= speedup.upper
    return {metric: count / nights for metric, count in held.items()}
