"""Two tokenizers are the same when the same ids mean the same, however their files are written."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UserError
from pipeline.models.tokenizer import first_difference, tokenizer_hash

BASE: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [{"id": 3, "content": "<end>", "special": True}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
}


def write(directory: Path, **changes: Any) -> Path:
    directory.mkdir()
    (directory / "tokenizer.json").write_text(json.dumps(copy.deepcopy(BASE) | changes))
    return directory


def model(**changes: Any) -> dict[str, Any]:
    return BASE["model"] | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2.0"},
        {"pre_tokenizer": {"type": "ByteLevel"}, "post_processor": None},
        {"model": model(merges=[["a", "b"]])},  # as newer releases of tokenizers write it
        {"model": model(vocab={"ab": 2, "b": 1, "a": 0})},
        {"added_tokens": [{"id": 3, "content": "<end>", "special": True, "lstrip": False}]},
    ],
)
def test_what_does_not_change_the_meaning_of_a_token_does_not_matter(tmp_path: Path, changes: dict[str, Any]) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", **changes)
    assert tokenizer_hash(one) == tokenizer_hash(other)
    assert first_difference(one, other) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": model(vocab={"a": 0, "c": 1, "ab": 2})}, "token 1 is 'b' in the target and 'c' in the draft"),
        ({"model": model(vocab={"a": 0, "b": 1})}, "token 2 is 'ab' in the target and nothing in the draft"),
        ({"model": model(merges=["b a"])}, "their merges differ"),
        ({"added_tokens": [{"id": 3, "content": "<end>", "special": False}]}, "their special tokens differ"),
        ({"added_tokens": [{"id": 3, "content": "<eot>", "special": True}]}, "token 3 is '<end>' in the target and"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.0]]}}, "token 2 is 'ab'"),
    ],
)
def test_what_changes_it_does_although_the_vocabulary_may_be_as_large(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", **changes)
    assert tokenizer_hash(one) != tokenizer_hash(other)
    assert (first_difference(one, other) or "").startswith(said)


def test_a_sentencepiece_file_is_hashed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"\x00sp")
    assert tokenizer_hash(tmp_path) is not None
    assert first_difference(tmp_path, write(tmp_path / "other")) == "only one of them has a tokenizer.json"


def test_no_tokenizer_has_no_hash_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert tokenizer_hash(tmp_path) is None
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match=r"tokenizer\.json cannot be read as JSON"):
        tokenizer_hash(tmp_path)
