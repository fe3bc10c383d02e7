"""Whether a draft can draft for a target."""

from pipeline.domain.model import ResolvedModel
from pipeline.errors import UserError

SMALLEST_RATIO = 10
LARGEST_RATIO = 50


def check_pair(target: ResolvedModel, draft: ResolvedModel) -> str | None:
    """Return a warning when the draft is not 10 to 50 times smaller than the target, else None.

    Raises UserError when their tokenizers differ: vLLM checks the size of the vocabulary at most, and would accept
    tokens that mean something else.
    """
    if target.tokenizer_hash != draft.tokenizer_hash:
        message = (
            f"draft {draft.model.name} has another tokenizer than target {target.model.name} "
            f"({_short(draft.tokenizer_hash)}, {_short(target.tokenizer_hash)}): its tokens would mean something else. "
            "Use a draft of the same family."
        )
        raise UserError(message)
    if not target.parameters or not draft.parameters:
        return None
    ratio = target.parameters / draft.parameters
    if SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        return None
    return (
        f"draft {draft.model.name} is {ratio:.1f} times smaller than target {target.model.name}; drafts pay off "
        f"between {SMALLEST_RATIO} and {LARGEST_RATIO} times, so expect a loss."
    )


def _short(tokenizer_hash: str | None) -> str:
    return tokenizer_hash[:12] if tokenizer_hash else "no tokenizer file"
