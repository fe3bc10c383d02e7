"""A directory that vLLM loads with random weights: config.json of a public model's sizes, and the embedded tokenizer.

Speed depends on sizes, not on values: a real shape without a checkpoint, a hub or an account. What it answers is noise,
so its acceptance means nothing unless it is synthetic, and everything measured with it is labelled `dummy`.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.domain.model import Model, Shape
from pipeline.errors import UserError
from pipeline.models import embedded
from pipeline.models.shapes import PREFIX, parameters_of, shipped

NAME = "shape-{}"
_CONTEXT = 131072
_CLASSES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def prepare(model: Model, *, root: Path, engine_python: Path, report: Callable[[str], None]) -> Path:
    """Return the directory of `shape:NAME`, making it when it is not there yet.

    Raises UserError when the shape does not exist, has no class that we can write a configuration for, or is asked for
    with real weights.
    """
    name = model.source.removeprefix(PREFIX)
    shape = _known(name)
    if model.weights != "dummy":
        message = f"model {model.name}: {model.source} has sizes and no weights. Write `weights: dummy`."
        raise UserError(message)
    directory = root / NAME.format(name)
    config = json.dumps(configuration(shape), indent=2, sort_keys=True) + "\n"
    if _is_there(directory, config=config):
        return directory
    words = embedded.prepare(embedded.TARGET, root=root, engine_python=engine_python, report=report)
    temporary = root / f".{directory.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for file in _TOKENIZER:
        if (words / file).is_file():
            shutil.copyfile(words / file, temporary / file)
    (temporary / "config.json").write_text(config, encoding="utf-8")
    shutil.rmtree(directory, ignore_errors=True)
    temporary.replace(directory)
    report(f"model {model.name}: {parameters_of(shape):,} random weights in the shape of {name} (dummy)")
    return directory


def configuration(shape: Shape) -> dict[str, Any]:
    """Return the config.json of a shape."""
    return {
        "architectures": [_CLASSES[shape.architecture or ""]],
        "model_type": shape.architecture,
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocab_size,
        "tie_word_embeddings": shape.tied_embeddings,
        "torch_dtype": shape.dtype,
        "max_position_embeddings": _CONTEXT,
        "rms_norm_eps": 1e-05,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def _known(name: str) -> Shape:
    usable = {key: shape for key, (_, shape) in shipped().items() if shape.architecture in _CLASSES}
    if name in usable:
        return usable[name]
    message = f"there is no shape {name!r} to run. There are: {', '.join(PREFIX + known for known in sorted(usable))}."
    raise UserError(message)


def _is_there(directory: Path, *, config: str) -> bool:
    try:
        written = (directory / "config.json").read_text(encoding="utf-8")
    except OSError:
        return False
    return written == config and (directory / "tokenizer.json").is_file()
