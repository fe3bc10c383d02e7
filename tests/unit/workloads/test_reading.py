"""Text files of prompts: entries, kinds and turns."""

import pytest

from pipeline.workloads import reading


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_packaged", lambda _: "=== a\none\n\n  two\n=== b\nthree\n---\nfour\n")


@pytest.mark.usefixtures("text")
def test_an_entry_goes_to_the_next_and_keeps_its_lines() -> None:
    assert list(reading.entries("x.txt")) == [("a", "one\n\n  two"), ("b", "three\n---\nfour")]


@pytest.mark.usefixtures("text")
def test_a_prompt_is_numbered_and_put_into_its_surroundings() -> None:
    first = reading.one_turn("x", framed=lambda kind, text: f"{kind}: {text}")[0]
    assert (first.prompt_id, first.kind, first.messages) == ("x-01-a", "a", (("user", "a: one\n\n  two"),))


@pytest.mark.usefixtures("text")
def test_turns_follow_each_other_inside_a_conversation() -> None:
    turns = reading.many_turns("x")
    assert [(turn.prompt_id, turn.follows) for turn in turns] == [
        ("x-01-a-1", None),
        ("x-02-b-1", None),
        ("x-02-b-2", "x-02-b-1"),
    ]
    assert turns[2].messages == (("user", "four"),)
