"""Counting: a prompt's own messages in the tokens of a tokenizer that is at hand."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from pipeline.domain.workload import Prompt
from pipeline.errors import UserError
from pipeline.workloads.lengths import Lengths, characters, read_tokenizer, summary, tokens

TWO = Prompt("a", "x", (("system", "be brief"), ("user", "one two three")))
ONE = Prompt("b", "x", (("user", "one"),), follows="a")


def words() -> Tokenizer:
    """One token a word, and a marker before each text, which counting is to leave out."""
    tokenizer = Tokenizer(WordLevel({"?": 0, "<s>": 1}, unk_token="?"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.enable_truncation(2)
    return tokenizer


def test_a_directory_or_its_file_is_read_and_truncates_nothing(tmp_path: Path) -> None:
    words().save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        assert tokens([TWO, ONE], tokenizer=read_tokenizer(path)) == (2 + 3, 1)


def test_characters_are_those_of_a_prompts_own_messages() -> None:
    assert [characters(prompt) for prompt in (TWO, ONE)] == [8 + 13, 3]


def test_a_summary_is_least_median_and_most() -> None:
    assert summary([4, 1, 2, 100]) == Lengths(least=1, median=3, most=100)


def test_a_directory_without_a_tokenizer_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no tokenizer\.json at .*: name the directory of a model"):
        read_tokenizer(tmp_path)


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="is no tokenizer"):
        read_tokenizer(tmp_path)
