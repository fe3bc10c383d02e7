"""Which drafts can draft for a target."""

import json
from pathlib import Path

import pytest

from pipeline.domain.method import Method
from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import UserError
from pipeline.models.pair import check_pair


def resolved(parameters: int | None, *, tokenizer: str | None = "t", path: str = "x", **sizes: int) -> ResolvedModel:
    return ResolvedModel(
        model=Model(name=f"p{parameters}", source="x"),
        path=path,
        revision="r",
        layers=None,
        hidden_size=sizes.get("hidden_size"),
        parameters=parameters,
        vocab_size=sizes.get("vocab_size"),
        tokenizer_hash=tokenizer,
    )


def checked(target: ResolvedModel, draft: ResolvedModel, *, method: str = "draft_model") -> str | None:
    return check_pair(target, draft, method=Method(name=method, method=method, draft=draft.model))


@pytest.mark.parametrize("ratio", [10, 20, 50])
def test_a_draft_of_a_tenth_to_a_fiftieth_is_fine(ratio: int) -> None:
    assert checked(resolved(1000), resolved(1000 // ratio)) is None


@pytest.mark.parametrize(("draft", "shown"), [(500, "2.0 times"), (10, "100.0 times")])
def test_other_sizes_are_warned_of(draft: int, shown: str) -> None:
    assert shown in (checked(resolved(1000), resolved(draft)) or "")


def test_unknown_sizes_are_not_guessed() -> None:
    assert checked(resolved(None), resolved(10)) is None


def test_another_tokenizer_is_refused() -> None:
    with pytest.raises(UserError, match="another tokenizer"):
        checked(resolved(1000), resolved(50, tokenizer="u"))
    with pytest.raises(UserError, match="one of them has no tokenizer file"):
        checked(resolved(1000), resolved(50, tokenizer=None))


def test_the_first_token_that_differs_is_named(tmp_path: Path) -> None:
    paths = []
    for name, word in (("target", "a"), ("draft", "b")):
        (tmp_path / name).mkdir()
        document = {"model": {"vocab": {"x": 0, word: 1}, "merges": []}, "added_tokens": []}
        (tmp_path / name / "tokenizer.json").write_text(json.dumps(document))
        paths.append(str(tmp_path / name))
    with pytest.raises(UserError, match=r"token 1 is 'a' in the target and 'b' in the draft"):
        checked(resolved(1000, path=paths[0]), resolved(50, tokenizer="u", path=paths[1]))


def test_what_an_unknown_method_wants_of_its_draft_is_not_ours_to_say() -> None:
    assert checked(resolved(1000), resolved(900, tokenizer="u"), method="custom:new") is None


def test_a_head_needs_no_tokenizer_and_no_ratio_but_the_width_of_its_target() -> None:
    target = resolved(1000, hidden_size=8, vocab_size=16)
    assert checked(target, resolved(900, tokenizer=None, hidden_size=8), method="eagle3") is None
    with pytest.raises(UserError, match="has hidden size 4, target p1000 has 8"):
        checked(target, resolved(50, tokenizer=None, hidden_size=4), method="eagle3")
    with pytest.raises(UserError, match="has vocabulary 4, target p1000 has 16"):
        checked(target, resolved(50, tokenizer=None, vocab_size=4), method="eagle")
    with pytest.raises(UserError, match="carries another tokenizer"):
        checked(target, resolved(50, tokenizer="u"), method="medusa")
