"""The verdict of one cell: a decision only where the interval allows one."""

import math

from pipeline.analyze.interval import Interval
from pipeline.domain.verdict import Speedup, Verdict, VerdictWord

MOST_BLOCKS = 100  # beyond these, "repeat it" is no advice
MOST_PROMPTS = 5000


def decide(
    speedup: Speedup, interval: Interval, *, margin: float, aa_log_ratio: float | None, reasons: tuple[str, ...]
) -> Verdict:
    """Worth it if the lower bound exceeds `margin`, not worth it if the upper bound is below it, else undecided."""
    word: VerdictWord = "undecided"
    if speedup.lower > margin:
        word = "worth_it"
    elif speedup.upper < margin:
        word = "not_worth_it"
    blocks, needed = (None, None) if word != "undecided" else _to_decide(interval, speedup, margin=margin)
    return Verdict(
        sweep_id=speedup.sweep_id,
        cell_id=speedup.cell_id,
        hardware_id=speedup.hardware_id,
        metric=speedup.metric,
        margin=margin,
        verdict=word,
        harmful=speedup.upper < 1,
        estimate=speedup.estimate,
        lower=speedup.lower,
        upper=speedup.upper,
        probability_of_loss=speedup.probability_of_loss,
        blocks_to_decide=blocks,
        aa_log_ratio=aa_log_ratio,
        reasons=(*((needed,) if needed else ()), *reasons),
    )


def _to_decide(interval: Interval, speedup: Speedup, *, margin: float) -> tuple[int | None, str | None]:
    """Estimate how many blocks in all would separate the estimate from the margin.

    Blocks shrink the variance of server starts; that of prompts stays, and shrinks only with more prompts.
    """
    gap = abs(interval.log_estimate - math.log(margin))
    allowed = (gap / interval.quantile) ** 2
    left_for_starts = allowed - interval.prompt_variance
    if left_for_starts > 0:
        blocks = math.ceil(interval.start_variance * speedup.arm_starts / left_for_starts)
        if blocks <= MOST_BLOCKS:
            return max(blocks, speedup.arm_starts + 1), None
    left_for_prompts = allowed - interval.start_variance
    if left_for_prompts > 0:
        prompts = math.ceil(interval.prompt_variance * speedup.pairs / left_for_prompts)
        if prompts <= MOST_PROMPTS:
            return None, f"prompts differ too much for {speedup.pairs} of them: about {prompts} would decide"
    if allowed > 0:
        # both at once, each with half of the variance that is allowed
        prompts = math.ceil(2 * interval.prompt_variance * speedup.pairs / allowed)
        blocks = math.ceil(2 * interval.start_variance * speedup.arm_starts / allowed)
        if prompts <= MOST_PROMPTS and blocks <= MOST_BLOCKS:
            return None, f"about {prompts} prompts and {blocks} blocks together would decide"
    return None, "the estimate lies so near the margin that no reasonable number of repetitions decides"
