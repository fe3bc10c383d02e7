"""What a model directory holds: its content hash, its tokenizer's hash, its shape, its parameters."""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import UserError
from pipeline.models.leave_out_layers import read_header
from pipeline.models.tokenizer import tokenizer_hash

_READ_BYTES = 1 << 20
_CACHE = ".contents"  # under the models root: one file a directory, so a hash is computed once


@dataclass(frozen=True, slots=True)
class Contents:
    """None where the directory does not say it."""

    revision: str  # sha256:<hex> over names and bytes of every file
    tokenizer_hash: str | None
    layers: int | None
    hidden_size: int | None
    vocab_size: int | None
    parameters: int | None


def read_contents(directory: Path, *, cache_root: Path) -> Contents:
    """Read a model directory. Hashes are kept under `cache_root` and reused while sizes and times are the same.

    Raises UserError when config.json is missing or not JSON.
    """
    config = read_config(directory)
    hashes = _hashes(directory, cache_root=cache_root)
    whole = hashlib.sha256("".join(f"{name}\0{hashes[name]}\n" for name in sorted(hashes)).encode()).hexdigest()
    text = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    return Contents(
        revision=f"sha256:{whole}",
        tokenizer_hash=tokenizer_hash(directory),
        layers=_integer(text, "num_hidden_layers"),
        hidden_size=_integer(text, "hidden_size"),
        vocab_size=_integer(text, "vocab_size"),
        parameters=count_parameters(directory),
    )


def read_config(directory: Path) -> dict[str, Any]:
    """Return config.json. Raises UserError naming the path and what to do."""
    path = directory / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        message = (
            f"{directory} holds no config.json, so it is not a model that vLLM can load. Give the directory that holds "
            "config.json, the tokenizer and the weights, or a model of a hub as `org/name`."
        )
        raise UserError(message) from error
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read as JSON ({error}). Download the model again."
        raise UserError(message) from error
    if not isinstance(config, dict):
        message = f"{path} is not a JSON object. Download the model again."
        raise UserError(message)
    return config


def count_parameters(directory: Path) -> int | None:
    """Return the number of weights by the safetensors headers; None without safetensors (dummy weights)."""
    files = sorted(directory.glob("*.safetensors"))
    if not files:
        return None
    total = 0
    for path in files:
        try:
            with path.open("rb") as file:
                header, _ = read_header(file)
            total += sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} is not a safetensors file ({error}). Download the model again."
            raise UserError(message) from error
    return total


def _files(directory: Path) -> list[Path]:
    """Everything but hidden files, such as a downloader's state, and our own marker."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(directory).parts))


def _hashes(directory: Path, *, cache_root: Path) -> dict[str, str]:
    """Return relative path -> sha256."""
    cache = cache_root / _CACHE / f"{hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]}.json"
    known = _read_cache(cache)
    fresh: dict[str, list[Any]] = {}
    for path in _files(directory):
        name, stat = path.relative_to(directory).as_posix(), path.stat()
        entry = known.get(name)
        if entry is None or entry[:2] != [stat.st_size, stat.st_mtime_ns]:
            entry = [stat.st_size, stat.st_mtime_ns, _sha256(path)]
        fresh[name] = entry
    if fresh != known:
        cache.parent.mkdir(parents=True, exist_ok=True)
        temporary = cache.with_suffix(f".{id(fresh)}.tmp")
        temporary.write_text(json.dumps(fresh), encoding="utf-8")
        temporary.replace(cache)
    return {name: str(entry[2]) for name, entry in fresh.items()}


def _read_cache(path: Path) -> dict[str, list[Any]]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _integer(config: Any, name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
