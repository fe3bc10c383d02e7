"""A target or draft model: where it comes from, how large it is and, once resolved, exactly which weights."""

from dataclasses import dataclass
from typing import Any, Literal

from pipeline.domain.identity import short_hash

Weights = Literal["real", "dummy"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the matrix names it.

    `source` is a local path, a hub id (`org/name`), `embedded:NAME` for one that Specwatch prepares from a package, or
    `shape:NAME` for random weights of a public model's sizes (with `weights` dummy).
    """

    name: str
    source: str
    revision: str | None = None  # hub revision asked for; None on paths and embedded models
    weights: Weights = "real"

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {
            "name": self.name,
            "source": self.source,
            "revision": self.revision,
            "weights": self.weights,
        }


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes from which memory and time follow. None where the source does not say."""

    source: str  # where the sizes come from, for a person
    parameters: int | None = None
    weight_bytes: int | None = None  # of the checkpoint, where it is not parameters x dtype
    dtype: str = "bfloat16"  # of the checkpoint
    layers: int | None = None
    hidden_size: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    tied_embeddings: bool = False
    kv_layers: int | None = None  # layers that keep keys and values; None: all
    state_bytes: int = 0  # a sequence's state in layers of linear attention
    architecture: str | None = None  # transformers' model_type


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model on this machine: what vLLM is given, and the content that was found there."""

    model: Model
    path: str  # local directory or hub id, as passed to --model
    revision: str  # content hash of a local model (`sha256:...`), or the hub's commit
    layers: int | None
    hidden_size: int | None
    parameters: int | None
    vocab_size: int | None
    tokenizer_hash: str | None  # of its vocabulary, merges and special tokens; target and draft must agree

    @property
    def model_id(self) -> str:
        """The natural key: what was loaded, not where it lay."""
        return short_hash({"name": self.model.name, "revision": self.revision, "weights": self.model.weights})

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object, the model's own under `model`."""
        return {
            "model": self.model.as_json(),
            "model_id": self.model_id,
            "path": self.path,
            "revision": self.revision,
            "layers": self.layers,
            "hidden_size": self.hidden_size,
            "parameters": self.parameters,
            "vocab_size": self.vocab_size,
            "tokenizer_hash": self.tokenizer_hash,
        }
