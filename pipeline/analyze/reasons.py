"""Why a verdict is what it is, in sentences made of measured columns. What was not measured is not mentioned."""

import math
from collections.abc import Sequence
from statistics import fmean

from pipeline.analyze.noise import StartVariance
from pipeline.analyze.samples import Sample, StartFacts, Window
from pipeline.domain.verdict import Speedup

PREFILL_HEAVY = 0.3
LENGTHS_DIFFER = 0.02


def reasons(
    speedup: Speedup,
    windows: Sequence[Window],
    samples: Sequence[Sample],
    *,
    baseline_cell_id: str,
    facts: tuple[StartFacts, StartFacts] | None,
    starts: StartVariance,
) -> tuple[str, ...]:
    """Return the reasons of one cell; `facts` are those of the baseline and of the arm."""
    arm = [w for w in windows if w.cell_id == speedup.cell_id]
    base = [w for w in windows if w.cell_id == baseline_cell_id]
    found = [
        _acceptance(arm),
        _attribution(base, arm),
        _prefill(arm),
        _lengths(samples, speedup.cell_id, baseline_cell_id),
        _losslessness(base, arm),
        _marks(base, arm),
        *(_engine(*facts) if facts else ()),
    ]
    if speedup.dropped_prompts:
        found.append(f"{speedup.dropped_prompts} prompts failed in an arm and left the pairs")
    if starts.source == "prior":
        found.append(
            f"server starts vary by an assumed {math.sqrt(starts.variance):.1%} "
            f"(a prior: {starts.pairs} of 10 A/A pairs measured)"
        )
    return tuple(sentence for sentence in found if sentence)


def _acceptance(arm: Sequence[Window]) -> str | None:
    drafted = sum(w.drafted_tokens or 0 for w in arm)
    drafts = sum(w.drafts or 0 for w in arm)
    accepted = sum(w.accepted_tokens or 0 for w in arm)
    if not drafted:
        return "nothing was drafted: the method found no candidate" if arm else None
    return f"{accepted / drafted:.0%} of the drafted tokens were accepted, {1 + accepted / drafts:.2f} tokens a draft"


def tokens_per_step(windows: Sequence[Window]) -> float | None:
    """Pooled (generated - requests) / steps; None without steps."""
    counted = [w for w in windows if w.engine_steps and w.server_output_tokens is not None]
    steps = sum(w.engine_steps or 0 for w in counted)
    if not steps:
        return None
    return sum((w.server_output_tokens or 0) - w.requests for w in counted) / steps


def step_time_ms(windows: Sequence[Window]) -> float | None:
    """Pooled time of an engine step, ms; None without steps."""
    counted = [w for w in windows if w.engine_steps and w.step_time_ms is not None]
    steps = sum(w.engine_steps or 0 for w in counted)
    if not steps:
        return None
    return sum((w.step_time_ms or 0.0) * (w.engine_steps or 0) for w in counted) / steps


def _attribution(base: Sequence[Window], arm: Sequence[Window]) -> str | None:
    tokens, tokens_base = tokens_per_step(arm), tokens_per_step(base)
    time, time_base = step_time_ms(arm), step_time_ms(base)
    if not tokens or not tokens_base or not time or not time_base:
        return None
    return (
        f"a step yields {tokens / tokens_base:.2f}x the tokens ({tokens:.2f}) "
        f"and takes {time / time_base:.2f}x the time ({time_base:.1f} -> {time:.1f} ms)"
    )


def _prefill(arm: Sequence[Window]) -> str | None:
    shares = [w.ttft_sum_share for w in arm if w.ttft_sum_share is not None]
    if not shares or fmean(shares) < PREFILL_HEAVY:
        return None
    return f"the first token takes {fmean(shares):.0%} of a request's time, which speculation does not shorten"


def _lengths(samples: Sequence[Sample], cell_id: str, baseline_cell_id: str) -> str | None:
    def mean_tokens(wanted: str) -> float | None:
        tokens = [s.output_tokens for s in samples if s.cell_id == wanted and s.output_tokens]
        return fmean(tokens) if tokens else None

    arm, base = mean_tokens(cell_id), mean_tokens(baseline_cell_id)
    if not arm or not base or abs(arm / base - 1) < LENGTHS_DIFFER:
        return None
    return f"answers differ in length ({base:.1f} -> {arm:.1f} output tokens): compared per token"


def _losslessness(base: Sequence[Window], arm: Sequence[Window]) -> str | None:
    """Greedy outputs that are not the baseline's, beside the control: the baseline against itself."""
    shares = [w.identical_share for w in arm if w.identical_share is not None]
    if not shares or min(shares) == 1:
        return None
    control = [w.identical_share for w in base if w.identical_share is not None]
    beside = f"; the baseline's own, started again: {fmean(control):.0%}" if control else ""
    return f"{fmean(shares):.0%} of the greedy outputs are the baseline's, character by character{beside}"


def _marks(base: Sequence[Window], arm: Sequence[Window]) -> str | None:
    windows = [*base, *arm]
    marked = [w for w in windows if w.faults]
    if not marked:
        return None
    names = ", ".join(sorted({fault for w in marked for fault in w.faults}))
    return f"{len(marked)} of {len(windows)} repetitions of both arms are marked ({names}): believe the figures less"


def _engine(base: StartFacts, arm: StartFacts) -> list[str]:
    found = []
    if base.async_scheduling and arm.async_scheduling is False:
        found.append("the baseline keeps asynchronous scheduling, speculation turns it off in this release")
    for name, a, b in (
        ("model runner", base.model_runner, arm.model_runner),
        ("attention backend", base.attention_backend, arm.attention_backend),
    ):
        if a and b and a != b:
            found.append(f"the {name} differs: {a} in the baseline, {b} with speculation")
    if base.kv_cache_tokens and arm.kv_cache_tokens and arm.kv_cache_tokens < base.kv_cache_tokens:
        lost = 1 - arm.kv_cache_tokens / base.kv_cache_tokens
        found.append(f"the KV cache holds {lost:.0%} fewer tokens ({base.kv_cache_tokens} -> {arm.kv_cache_tokens})")
    return found
