"""When what is sent: a closed loop's next conversation when a user is free, an open loop's arrivals as planned."""

import heapq
import itertools
import random
from collections.abc import Callable, Sequence

from pipeline.drive.conversations import Chain
from pipeline.drive.load import Load

Feed = Callable[[], int | None]  # number of the next conversation; None: no more


def arrivals(load: Load) -> tuple[int, ...]:
    """Return the planned time of each prompt, ns after the start of the window; empty in a closed loop.

    `fixed`: i / rate. `poisson`: gaps are exponential with mean 1 / rate, from the load's seed; the first is at 0.
    """
    if load.arrival == "closed" or load.request_rate is None:
        return ()
    if load.arrival == "fixed":
        return tuple(round(i * 1e9 / load.request_rate) for i in range(len(load.prompts)))
    draw = random.Random(load.seed)  # noqa: S311 - arrivals, no secret
    planned = [0.0]
    while len(planned) < len(load.prompts):
        planned.append(planned[-1] + draw.expovariate(load.request_rate) * 1e9)
    return tuple(round(at) for at in planned[: len(load.prompts)])


class Agenda:
    """What is to be sent next in one process.

    Closed: `users` users each take a conversation from `feed` and the next one when it ended. Open: every conversation
    begins as planned; a turn that follows another is sent as planned, or when that one ended if that is later.
    """

    def __init__(
        self, conversations: Sequence[Chain], *, feed: Feed, users: int, planned: Sequence[int], origin_ns: int
    ) -> None:
        self._conversations = conversations
        self._feed = feed
        self._planned = planned
        self._origin_ns = origin_ns
        self._next: dict[int, int] = {}  # prompt -> the turn after it, of conversations that have begun
        self._waiting: list[tuple[int, int]] = []  # heap: time due, prompt
        if planned:
            while (number := feed()) is not None:
                self._begin(number, at_ns=origin_ns)
        else:
            for _ in range(users):
                self._take(at_ns=origin_ns)

    def due_ns(self) -> int | None:
        """Return when the next request is due; None: none is known now."""
        return self._waiting[0][0] if self._waiting else None

    def take(self) -> tuple[int, int]:
        """Return the next prompt and the time for which it was planned."""
        due, index = heapq.heappop(self._waiting)
        return index, due

    def has_next(self, index: int) -> bool:
        """Whether a turn waits for the answer to this prompt."""
        return index in self._next

    def ended(self, index: int, *, at_ns: int, failed: bool) -> list[tuple[int, int]]:
        """Note that a request ended. Return the turns that will not be sent, each with the turn before it."""
        follower = self._next.pop(index, None)
        if follower is not None and not failed:
            self._wait(follower, at_ns=at_ns)
            return []
        skipped = []
        while follower is not None:
            skipped.append((follower, index))
            index, follower = follower, self._next.pop(follower, None)
        if not self._planned:
            self._take(at_ns=at_ns)
        return skipped

    def stop(self) -> None:
        """Send nothing more."""
        self._waiting.clear()
        self._next.clear()
        self._feed = _nothing

    def _take(self, *, at_ns: int) -> None:
        number = self._feed()
        if number is not None:
            self._begin(number, at_ns=at_ns)

    def _begin(self, number: int, *, at_ns: int) -> None:
        chain = self._conversations[number]
        self._next.update(itertools.pairwise(chain))
        self._wait(chain[0], at_ns=at_ns)

    def _wait(self, index: int, *, at_ns: int) -> None:
        due = max(at_ns, self._origin_ns + self._planned[index]) if self._planned else at_ns
        heapq.heappush(self._waiting, (due, index))


def _nothing() -> None:
    """A feed that is empty."""
