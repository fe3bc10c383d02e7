"""Which prompt follows which."""

import pytest

from pipeline.domain.workload import Prompt
from pipeline.drive.conversations import chains


def turns(*pairs: tuple[str, str | None]) -> list[Prompt]:
    return [Prompt(name, "chat", (("user", name),), follows=before) for name, before in pairs]


def test_prompts_that_follow_none_stand_alone() -> None:
    assert chains(turns(("a", None), ("b", None))) == ((0,), (1,))


def test_turns_are_gathered_in_their_order() -> None:
    found = chains(turns(("a", None), ("b", None), ("a2", "a"), ("b2", "b"), ("a3", "a2")))
    assert found == ((0, 2, 4), (1, 3))


def test_a_repeated_set_follows_its_own_repetition() -> None:
    assert chains(turns(("a", None), ("a2", "a"), ("a", None), ("a2", "a"))) == ((0, 1), (2, 3))


@pytest.mark.parametrize(
    "prompts",
    [
        turns(("a2", "a"), ("a", None)),
        turns(("a", None), ("x", "nothing")),
        turns(("a", None), ("x", "a"), ("y", "a")),
    ],
    ids=["before it", "unknown", "a fork"],
)
def test_a_turn_that_cannot_be_placed_is_refused(prompts: list[Prompt]) -> None:
    with pytest.raises(ValueError, match="which is not before it or is followed already"):
        chains(prompts)
