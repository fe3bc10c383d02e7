"""A speculation method with its settings: one arm of a block. `none` is the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.domain.identity import short_hash
from pipeline.domain.model import Model

Acceptance = Literal["none", "real", "synthetic"]
BASELINE = "none"

Drafting = Literal["nothing", "model", "head"]
# What drafts: the target's own text or weights (nothing more), a whole model, or a head trained for one target.
_DRAFTING: dict[str, Drafting] = {
    "none": "nothing",
    "ngram": "nothing",
    "ngram_gpu": "nothing",
    "suffix": "nothing",
    "mtp": "nothing",  # its layers are in the target's checkpoint; a family that ships them apart names a draft
    "draft_model": "model",
    "eagle": "head",
    "eagle3": "head",
    "medusa": "head",
    "mlp_speculator": "head",
    "dflash": "head",
    "dspark": "head",
}


def drafting(method: str) -> Drafting | None:
    """Return what `method` drafts with; None for one that this release does not know, which is passed on as it is."""
    return _DRAFTING.get(method)


@dataclass(frozen=True, slots=True)
class Method:
    """One configuration of speculative decoding, in vLLM's own words."""

    name: str  # the arm's name in the matrix, such as `ngram-k4`
    method: str  # vLLM's method: none, ngram, draft_model, eagle3, ...
    num_speculative_tokens: int | None = None  # k; None for the baseline
    draft: Model | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # further --speculative-config keys

    @property
    def is_baseline(self) -> bool:
        """Whether this arm decodes without speculation."""
        return self.method == BASELINE

    @property
    def draft_is_head(self) -> bool:
        """Whether the draft is a head on the target's hidden states: no tokenizer and no size ratio of its own."""
        return self.draft is not None and drafting(self.method) == "head"

    @property
    def acceptance(self) -> Acceptance:
        """Where acceptance comes from: synthetic figures are never compared with real ones."""
        if self.is_baseline:
            return "none"
        return "synthetic" if self.options.get("rejection_sample_method") == "synthetic" else "real"

    @property
    def method_id(self) -> str:
        """The natural key: a hash of what vLLM is told. The arm's name does not enter."""
        return short_hash(self.configuration())

    def configuration(self) -> dict[str, Any]:
        """Return what affects the measurement as a JSON object."""
        return {
            "method": self.method,
            "num_speculative_tokens": self.num_speculative_tokens,
            "draft": self.draft.as_json() if self.draft else None,
            "options": dict(sorted(self.options.items())),
        }

    def as_json(self) -> dict[str, Any]:
        """Return the configuration with the arm's name."""
        return {"name": self.name} | self.configuration()
