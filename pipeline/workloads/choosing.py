"""Choices that are the same on every machine and in every release of Python: a prompt set is known by its hash."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chooser:
    """A stream of choices that a seed text fixes. The standard library does not promise its own to stay."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0
        self._decks: dict[str, list[str]] = {}

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1; uniform but for one part in 2**40."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._seed}/{self._drawn}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def between(self, low: int, high: int, *, step: int = 1) -> int:
        """Return a multiple of `step` from `low` to `high`, both included."""
        return low + step * self.below((high - low) // step + 1)

    def one(self, items: Sequence[T]) -> T:
        """Return one of `items`."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different places of `items` in random order; all of them when there are no more."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def next_of(self, deck: str, items: Sequence[str]) -> str:
        """Return one of `items` as from a deck of cards: none comes twice before each has come once."""
        cards = self._decks.setdefault(deck, [])
        if not cards:
            cards.extend(self.some(items, len(items)))
        return cards.pop()
