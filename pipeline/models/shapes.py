"""How large a model is: read from its config.json where it is here, else from the sizes that we ship (shapes.yaml)."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.domain.model import Model, Shape
from pipeline.models.contents import count_parameters, read_config

PREFIX = "shape:"
_FILE = Path(__file__).with_name("shapes.yaml")
_PER_MODEL_TYPE = {"llama", "qwen3", "mistral", "qwen2"}  # whose parameters follow from the sizes alone


@cache
def shipped() -> Mapping[str, tuple[str, Shape]]:
    """Return what shapes.yaml holds: name -> (hub id, shape)."""
    names = {field.name for field in fields(Shape)}
    entries = YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))
    found: dict[str, tuple[str, Shape]] = {}
    for name, entry in entries.items():
        shape = Shape(**{key: value for key, value in entry.items() if key in names})
        found[name] = (entry["hub"], replace(shape, source=f"sizes we ship ({shape.source})"))
    return found


@cache
def gated() -> frozenset[str]:
    """Return the hub ids, among those of shapes.yaml, that the hub gives only to who accepted their terms."""
    entries = YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))
    return frozenset(entry["hub"] for entry in entries.values() if entry.get("gated"))


def shape_of(model: Model, *, directory: Path | None) -> Shape | None:
    """Return the sizes of `model`: of `directory` when it is on this machine, completed by those we ship.

    None when neither is there.
    """
    if model.source.startswith(PREFIX):
        entry = shipped().get(model.source.removeprefix(PREFIX))
        known = entry[1] if entry else None
    else:
        known = next((shape for hub, shape in shipped().values() if hub == model.source), None)
    if directory is None:
        return known
    found = read_shape(directory)
    return found if known is None else _filled(found, known)


def read_shape(directory: Path) -> Shape:
    """Return the sizes that a model directory states. Raises UserError when its config.json cannot be read."""
    shape = shape_from_config(read_config(directory), source=f"{directory.name}/config.json")
    counted = count_parameters(directory)
    size = sum(path.stat().st_size for path in _weights(directory)) or None
    return replace(shape, parameters=counted or parameters_of(shape), weight_bytes=size)


def shape_from_config(config: Mapping[str, Any], *, source: str) -> Shape:
    """Return what a transformers config.json says of the sizes; a multimodal model's are those of its text part."""
    nested = config.get("text_config")
    text: Mapping[str, Any] = nested if isinstance(nested, Mapping) else config
    heads, hidden = _integer(text, "num_attention_heads"), _integer(text, "hidden_size")
    kinds = text.get("layer_types")
    attending = [kind for kind in kinds if kind != "linear_attention"] if isinstance(kinds, list) else []
    dtype = str(text.get("dtype") or text.get("torch_dtype") or config.get("torch_dtype") or "bfloat16")
    return Shape(
        source=source,
        dtype=dtype,
        layers=_integer(text, "num_hidden_layers"),
        hidden_size=hidden,
        heads=heads,
        kv_heads=_integer(text, "num_key_value_heads") or heads,
        head_dim=_integer(text, "head_dim") or (hidden // heads if hidden and heads else None),
        intermediate_size=_integer(text, "intermediate_size"),
        vocab_size=_integer(text, "vocab_size"),
        tied_embeddings=bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))),
        kv_layers=len(attending) or None,
        architecture=str(text.get("model_type")) if text.get("model_type") else None,
    )


def parameters_of(shape: Shape) -> int | None:
    """Count the parameters of a dense transformer from its sizes.

        vocabulary x hidden (twice unless tied) + layers x (2 x hidden x (heads + kv_heads) x head_dim
        + 3 x hidden x intermediate + 2 x hidden) + hidden; Qwen3 has 2 x head_dim more a layer, Qwen2 biases

    None for an architecture of which we do not know that this holds.
    """
    sizes = (shape.layers, shape.hidden_size, shape.heads, shape.kv_heads, shape.head_dim, shape.intermediate_size)
    if shape.architecture not in _PER_MODEL_TYPE or shape.vocab_size is None or None in sizes:
        return None
    layers, hidden, heads, kv_heads, head_dim, intermediate = (size or 0 for size in sizes)
    extra = {"qwen3": 2 * head_dim, "qwen2": (heads + 2 * kv_heads) * head_dim}.get(shape.architecture, 0)
    a_layer = 2 * hidden * (heads + kv_heads) * head_dim + 3 * hidden * intermediate + 2 * hidden + extra
    embeddings = shape.vocab_size * hidden * (1 if shape.tied_embeddings else 2)
    return embeddings + layers * a_layer + hidden


def _filled(found: Shape, known: Shape) -> Shape:
    """Return `found` with what it leaves out taken from `known`; a state of 0 bytes is a config that does not say."""
    missing = {
        field.name: getattr(known, field.name) for field in fields(Shape) if getattr(found, field.name) in (None, 0)
    }
    return replace(found, **missing)


def _weights(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.safetensors")) or sorted(directory.glob("*.bin"))


def _integer(config: Mapping[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
