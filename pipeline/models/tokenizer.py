"""What a draft must share with its target: which token an id stands for."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import UserError

FILES = ("tokenizer.json", "tokenizer.model")  # the fast tokenizer's file decides; older models have only sentencepiece


def tokenizer_hash(directory: Path) -> str | None:
    """Return a hash of vocabulary, merges and special tokens; None when the directory holds no tokenizer.

    Two files that differ only in layout, in a chat template or in how text is split before have the same hash. Of a
    file in another format, the whole content is hashed. Raises UserError when tokenizer.json is not JSON.
    """
    path = next((directory / name for name in FILES if (directory / name).is_file()), None)
    if path is None:
        return None
    if path.suffix != ".json":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    canonical = json.dumps(_essence(_read(path)), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def first_difference(target: Path, draft: Path) -> str | None:
    """Say where two tokenizers part, such as "token 17 is 'a' in the target and 'b' in the draft"; None: nowhere."""
    paths = [directory / FILES[0] for directory in (target, draft)]
    if not all(path.is_file() for path in paths):
        return "only one of them has a tokenizer.json"
    one, other = (_essence(_read(path)) for path in paths)
    if one == other:
        return None
    words, others = (_by_id(essence) for essence in (one, other))
    for number in sorted(words.keys() | others.keys()):
        if words.get(number) != others.get(number):
            said = [repr(names[number]) if number in names else "nothing" for names in (words, others)]
            return f"token {number} is {said[0]} in the target and {said[1]} in the draft"
    if one.get("merges") != other.get("merges"):
        return "their merges differ"
    return "their special tokens differ"


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read as JSON ({error}). Download the model again."
        raise UserError(message) from error
    return document if isinstance(document, dict) else {"document": document}


def _essence(document: Mapping[str, Any]) -> dict[str, Any]:
    model = document.get("model")
    if not isinstance(model, Mapping) or "vocab" not in model:
        return {"document": document}
    merges = model.get("merges") or []
    return {
        "vocab": model["vocab"],
        # written as "a b" by older releases of tokenizers, as ["a", "b"] by newer ones
        "merges": [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in merges],
        "added": sorted(
            ([token.get("id"), token.get("content"), bool(token.get("special"))] for token in _added(document)),
            key=json.dumps,
        ),
    }


def _added(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tokens = document.get("added_tokens")
    return [token for token in tokens if isinstance(token, Mapping)] if isinstance(tokens, list) else []


def _by_id(essence: Mapping[str, Any]) -> dict[int, str]:
    vocab = essence.get("vocab")
    if isinstance(vocab, Mapping):
        words = {number: word for word, number in vocab.items()}
    elif isinstance(vocab, list):  # unigram: [word, score] in the order of ids
        words = {number: str(entry[0]) for number, entry in enumerate(vocab)}
    else:
        words = {}
    return words | {token[0]: token[1] for token in essence.get("added", ()) if isinstance(token[0], int)}
