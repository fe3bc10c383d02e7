"""Choices: fixed by their seed for good, and spread as they should be."""

from collections import Counter

from pipeline.workloads.choosing import Chooser


def test_the_same_seed_chooses_the_same_for_good() -> None:
    """Written down once: hashes of prompt sets rest on it."""
    choose = Chooser("a seed")
    assert [choose.below(100) for _ in range(5)] == [62, 93, 86, 10, 56]


def test_another_seed_chooses_otherwise() -> None:
    first, second = Chooser("1"), Chooser("2")
    assert [first.below(1000) for _ in range(4)] != [second.below(1000) for _ in range(4)]


def test_every_number_comes_up() -> None:
    choose = Chooser("x")
    assert {choose.between(10, 30, step=10) for _ in range(50)} == {10, 20, 30}


def test_some_are_different_places() -> None:
    assert sorted(Chooser("x").some([1, 2, 3, 4], 9)) == [1, 2, 3, 4]
    assert len(set(Chooser("x").some(range(100), 10))) == 10


def test_a_deck_gives_each_card_once_before_any_twice() -> None:
    choose = Chooser("x")
    drawn = [choose.next_of("deck", "abc") for _ in range(9)]
    assert [Counter(drawn[i : i + 3]) for i in (0, 3, 6)] == [Counter("abc")] * 3
