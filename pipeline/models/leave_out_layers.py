"""A smaller model with the same tokenizer and no training: a copy of a model without some of its layers.

Works on the safetensors bytes (an 8-byte length, a JSON header, the tensors), so it needs no torch and is exact.
"""

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.errors import EnvironmentFault

WEIGHTS = "model.safetensors"
_LAYER = re.compile(r"^(model\.layers\.)(\d+)(\..+)$")
_COPY_BYTES = 1 << 20


def leave_out_layers(source: Path, *, output: Path, layers: Collection[int]) -> None:
    """Write the model in `source` to the existing directory `output` without `layers` (0-based).

    Later layers move up. Raises EnvironmentFault when the weights are not one `model.safetensors`.
    """
    if not (source / WEIGHTS).is_file():
        message = f"{source} holds no {WEIGHTS}: remove the directory, so that it is prepared again."
        raise EnvironmentFault(message)
    _write_weights(source / WEIGHTS, output=output / WEIGHTS, layers=layers)
    _write_config(source / "config.json", output=output / "config.json", layers=layers)
    for path in sorted(source.iterdir()):
        if path.is_file() and path.name not in {WEIGHTS, "config.json"} and not path.name.startswith("."):
            shutil.copyfile(path, output / path.name)


def read_header(weights: BinaryIO) -> tuple[dict[str, Any], int]:
    """Return the JSON header of a safetensors file and the offset of its first tensor byte."""
    length = int.from_bytes(weights.read(8), "little")
    header: dict[str, Any] = json.loads(weights.read(length))
    return header, 8 + length


def _write_weights(source: Path, *, output: Path, layers: Collection[int]) -> None:
    with source.open("rb") as read, output.open("wb") as write:
        header, start = read_header(read)
        metadata = header.pop("__metadata__", None)
        kept: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
        copies: list[tuple[int, int]] = []
        offset = 0
        for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
            new_name = _renamed(name, layers=layers)
            if new_name is None:
                continue
            first, last = tensor["data_offsets"]
            kept[new_name] = tensor | {"data_offsets": [offset, offset + last - first]}
            copies.append((start + first, last - first))
            offset += last - first
        text = json.dumps(kept, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)  # the format wants the tensors aligned to 8 bytes
        write.write(len(text).to_bytes(8, "little") + text)
        for position, size in copies:
            _copy(read, write, position=position, size=size)


def _renamed(name: str, *, layers: Collection[int]) -> str | None:
    """Return the tensor's name in the smaller model, or None when its layer is left out."""
    match = _LAYER.match(name)
    if not match:
        return name
    layer = int(match[2])
    if layer in layers:
        return None
    return f"{match[1]}{layer - sum(1 for left_out in layers if left_out < layer)}{match[3]}"


def _copy(read: BinaryIO, write: BinaryIO, *, position: int, size: int) -> None:
    read.seek(position)
    while size > 0:
        chunk = read.read(min(size, _COPY_BYTES))
        if not chunk:
            message = f"{read.name} ends inside a tensor: remove its directory, so that it is prepared again."
            raise EnvironmentFault(message)
        write.write(chunk)
        size -= len(chunk)


def _write_config(source: Path, *, output: Path, layers: Collection[int]) -> None:
    config = json.loads(source.read_text(encoding="utf-8"))
    config["num_hidden_layers"] -= len(layers)
    if isinstance(config.get("layer_types"), list):
        config["layer_types"] = [kind for n, kind in enumerate(config["layer_types"]) if n not in layers]
    output.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
