"""How much of what was drafted held: rates, lengths, and by position.

`acceptance_rate` accepted / drafted tokens, 0-1. `mean_acceptance_length` 1 + accepted / drafts, tokens: the bonus
token counts, as in vLLM; steps without a draft do not, so it overstates ngram and suffix (see `tokens_per_step`).
Acceptance is counted before an output is cut at its end. Undefined when nothing was drafted, never 0 or 1. Source:
differences of vllm:spec_decode_*.
"""

from collections.abc import Iterator

from pipeline.measure.counters import CounterWindow
from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics

_HALVINGS = 60  # of [0, 1]: below the precision of a float


def acceptance(window: MeasuredWindow) -> Metrics:
    """Return the counts of drafts and what held of them."""
    counters = window.counters
    a_draft = ratio(counters.accepted_tokens, counters.drafts)
    return {
        "drafts": counters.drafts,
        "drafted_tokens": counters.drafted_tokens,
        "accepted_tokens": counters.accepted_tokens,
        "acceptance_rate": ratio(counters.accepted_tokens, counters.drafted_tokens),
        "mean_acceptance_length": None if a_draft is None else 1 + a_draft,
        "per_token_acceptance": per_token_acceptance(a_draft, k=ratio(counters.drafted_tokens, counters.drafts)),
    }


def per_token_acceptance(accepted_a_draft: float | None, *, k: float | None) -> float | None:
    """Return the a in [0, 1] with a + a^2 + ... + a^k = `accepted_a_draft`.

    The theory of speculative decoding takes each drafted token to hold with one chance a, given that those before it
    did. k may lie between integers, because drafts differ in length: then the sum is a (1 - a^k) / (1 - a). None
    without drafts, or with more accepted than drafted.
    """
    if accepted_a_draft is None or not k or not 0 <= accepted_a_draft <= k:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _expected(middle, k) < accepted_a_draft else (low, middle)
    return (low + high) / 2


def _expected(a: float, k: float) -> float:
    return k if a >= 1 else a * (1 - a**k) / (1 - a)


def by_position(counters: CounterWindow) -> Iterator[tuple[int, float | None, float | None]]:
    """Yield (accepted, accepted / drafts, accepted / accepted at the position before) of each position; 0-1.

    The chance that a position holds at all, and the chance that it does given that the one before did (of the first: as
    the former). Drafts shorter than the position count as not held. None where the denominator is 0.
    """
    before: int | None = counters.drafts
    for accepted in counters.accepted_per_position:
        yield accepted, ratio(accepted, counters.drafts), ratio(accepted, before)
        before = accepted
