"""Whether a draft can draft for a target."""

from pathlib import Path

from pipeline.domain.method import Method, drafting
from pipeline.domain.model import ResolvedModel
from pipeline.errors import UserError
from pipeline.models.tokenizer import first_difference

SMALLEST_RATIO = 10
LARGEST_RATIO = 50


def check_pair(target: ResolvedModel, draft: ResolvedModel, *, method: Method) -> str | None:
    """Return a warning when the draft is not 10 to 50 times smaller than the target, else None.

    Raises UserError when their tokenizers differ: vLLM checks the size of the vocabulary at most, and would accept
    tokens that mean something else. A head has neither a tokenizer nor a size ratio of its own: it must be as wide as
    its target. What another method wants of its draft is not known here.
    """
    if method.draft_is_head:
        _check_head(target, draft)
    if drafting(method.method) != "model":
        return None
    if target.tokenizer_hash != draft.tokenizer_hash:
        message = (
            f"draft {draft.model.name} has another tokenizer than target {target.model.name} "
            f"({_why(target, draft)}): its tokens would mean something else. Use a draft of the same family."
        )
        raise UserError(message)
    return ratio_warning(
        (target.model.name, target.parameters), (draft.model.name, draft.parameters), what=method.method
    )


def ratio_warning(target: tuple[str, int | None], draft: tuple[str, int | None], *, what: str) -> str | None:
    """Return what to say of sizes (name, parameters) that seldom pay off; None when they may, or are not known."""
    if what != "draft_model" or not target[1] or not draft[1]:
        return None
    ratio = target[1] / draft[1]
    if SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        return None
    return (
        f"draft {draft[0]} is {ratio:.1f} times smaller than target {target[0]}; drafts pay off "
        f"between {SMALLEST_RATIO} and {LARGEST_RATIO} times, so expect a loss."
    )


def _check_head(target: ResolvedModel, head: ResolvedModel) -> None:
    if target.tokenizer_hash and head.tokenizer_hash and target.tokenizer_hash != head.tokenizer_hash:
        message = (
            f"head {head.model.name} carries another tokenizer than target {target.model.name} "
            f"({_why(target, head)}): it was trained for another model. Use a head of this target."
        )
        raise UserError(message)
    for what, one, other in (
        ("hidden size", target.hidden_size, head.hidden_size),
        ("vocabulary", target.vocab_size, head.vocab_size),
    ):
        if one is not None and other is not None and one != other:
            message = (
                f"head {head.model.name} has {what} {other}, target {target.model.name} has {one}: it was trained for "
                "another model. Use a head of this target."
            )
            raise UserError(message)


def _why(target: ResolvedModel, draft: ResolvedModel) -> str:
    if target.tokenizer_hash is None or draft.tokenizer_hash is None:
        return "one of them has no tokenizer file"
    return first_difference(Path(target.path), Path(draft.path)) or "their files differ"
