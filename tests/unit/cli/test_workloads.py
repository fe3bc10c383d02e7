"""`specwatch workloads`: what the sets state, how long they are, and their text."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from pipeline.cli import main
from pipeline.cli import workloads as command
from pipeline.workloads.sets import prompt_set

SHORT = {"structured": (), "creative": (), "rag": (1024,)}


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LENGTHS", SHORT)


@pytest.fixture
def target(tmp_path: Path) -> str:
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def test_the_list_states_hash_and_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workloads", "list"]) == 0
    shown = capsys.readouterr().out
    for word in ("creative", prompt_set("creative").content_hash, "52 84 92", "1024"):
        assert word in shown
    assert "tokens: least" in shown
    assert "chat template" not in shown


def test_with_a_target_its_tokens_are_counted_and_what_is_left_out_is_said(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workloads", "list", "--target", target]) == 0
    assert "what a chat template adds is not counted" in capsys.readouterr().out
    assert main(["workloads", "list", "--target", target, "--json"]) == 0
    creative = json.loads(capsys.readouterr().out)[1]
    assert creative["tokens"] == {"least": 10, "median": 16, "most": 17}  # words


def test_show_prints_the_prompts(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workloads", "show", "creative", "--target", target]) == 0
    shown = capsys.readouterr().out
    assert "=== creative-05-poetry (10 tokens)\nWrite a poem in which winter apologises to a garden.\n" in shown


def test_show_as_json_holds_messages_and_what_the_set_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workloads", "show", "rag", "--prompt-tokens", "1024", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["prompt_tokens"], shown["output_tokens"], shown["tokens"]) == (1024, 128, None)
    assert [message["role"] for message in shown["prompts"][0]["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show"], "which workload? There are: structured, creative, rag"),
        (["show", "poems"], "which workload?"),
        (["show", "rag"], "comes in lengths: --prompt-tokens, one of 1024"),
        (["show", "creative", "--prompt-tokens", "1024"], "does not come in lengths"),
        (["list", "--target", "/nowhere"], "there is no tokenizer.json at /nowhere"),
    ],
)
def test_what_cannot_be_shown_says_what_to_write(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workloads", *arguments]) == 2
    assert said in capsys.readouterr().err
