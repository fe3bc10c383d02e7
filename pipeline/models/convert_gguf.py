"""Run by an engine's own interpreter, which has torch and transformers: writes a GGUF model as safetensors.

usage: ENGINE_PYTHON convert_gguf.py GGUF_FILE OUTPUT_DIRECTORY   (PYTHONPATH holds gguf and accelerate)
Deterministic: the same file gives the same bytes. Imports nothing of Specwatch, so any engine's Python can run it.
"""

import json
import sys
from pathlib import Path
from typing import Any

_ARGUMENTS = 3


def convert(gguf: Path, *, output: Path) -> None:
    """Dequantize `gguf` to bfloat16 and save the weights, the configuration and the tokenizer in `output`."""
    import torch  # type: ignore[import-not-found, unused-ignore]  # only the engine has it
    from transformers import AutoModelForCausalLM, AutoTokenizer  # type: ignore[import-not-found, unused-ignore]  # the same

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16, **_dequantize())
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    for name in ("config.json", "generation_config.json"):
        _drop_left_overs(output / name)


def _dequantize() -> dict[str, Any]:
    """Transformers 5 asks for it by name; transformers 4 always dequantizes GGUF."""
    try:
        from transformers import GgufConfig  # type: ignore[import-not-found, unused-ignore]  # the same
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def _drop_left_overs(path: Path) -> None:
    """Drop what would make vLLM look for quantized weights, and what differs between releases of transformers."""
    if not path.exists():
        return
    config = json.loads(path.read_text(encoding="utf-8"))
    for name in ("quantization_config", "transformers_version", "_name_or_path", "_model_name_or_path"):
        config.pop(name, None)
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != _ARGUMENTS:
        sys.exit(__doc__)
    convert(Path(sys.argv[1]), output=Path(sys.argv[2]))
