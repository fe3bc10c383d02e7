"""Whether greedy outputs are those of the baseline, character by character.

The reference is the first repetition of the block's opening baseline; requests pair by prompt and seed. Of an arm the
share says whether speculation is lossless here; of a closing (or repeated opening) baseline it is the control: what
batching and kernels alone change. `first_difference_median_chars`: characters before the first that differs;
`first_difference_median_tokens`: tokens in the chunks before that character's chunk, where the client recorded how many
characters each chunk had. Both medians over outputs that differ. Undefined above temperature 0, of the reference
itself, without an opening baseline, and where no request succeeded in both.
"""

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median

from pipeline.domain.request import RequestRecord
from pipeline.measure.ratio import defined, ratio
from pipeline.measure.window import MeasuredWindow, Metrics, Texts


def texts(records: Sequence[RequestRecord]) -> Texts:
    """Return the outputs of the requests that succeeded, as a reference for others."""
    return {(r.prompt_id, r.seed): r.text for r in records if not r.failed and r.text is not None}


def losslessness(window: MeasuredWindow) -> Metrics:
    """Return how many outputs were compared, how many are identical, and where the others part."""
    reference = window.reference if window.reference is not None and window.temperature == 0 else {}
    compared = [
        (record, record.text, reference[record.prompt_id, record.seed])
        for record in window.good
        if record.text is not None and (record.prompt_id, record.seed) in reference
    ]
    parted = [(record, _common(own, other)) for record, own, other in compared if own != other]
    tokens = defined(_tokens_before(record, at) for record, at in parted)
    return {
        "compared_outputs": len(compared) or None,
        "identical_share": ratio(len(compared) - len(parted), len(compared)),
        "first_difference_median_chars": median(at for _, at in parted) if parted else None,
        "first_difference_median_tokens": median(tokens) if tokens and len(tokens) == len(parted) else None,
    }


def _common(one: str, other: str) -> int:
    """Return how many characters two different texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _tokens_before(record: RequestRecord, chars: int) -> int | None:
    """Return the tokens in the chunks before the one that holds character `chars`, from 0.

    An output that ends there, because the other goes on, has all its tokens before. None when characters were not
    recorded.
    """
    if not record.chunk_chars:
        return None
    before = bisect_right(record.chunk_chars, chars)
    return record.chunk_tokens[before - 1] if before else 0
