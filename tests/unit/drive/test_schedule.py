"""What is due when: planned arrivals, and the agenda of one process. Pure."""

import itertools
from collections.abc import Callable, Sequence

from pipeline.drive.schedule import Agenda, arrivals
from tests.unit.drive.loads import load


def feed(number: int) -> Callable[[], int | None]:
    """The numbers below `number`."""
    numbers = iter(range(number))
    return lambda: next(numbers, None)


def agenda(conversations: Sequence[tuple[int, ...]], *, users: int = 1, planned: Sequence[int] = ()) -> Agenda:
    return Agenda(conversations, feed=feed(len(conversations)), users=users, planned=planned, origin_ns=1000)


def open_load(number: int, **more: object) -> list[int]:
    return list(arrivals(load(number, concurrency=None, **more)))


def test_a_closed_loop_plans_no_times() -> None:
    assert arrivals(load(3)) == ()


def test_fixed_arrivals_are_evenly_spaced() -> None:
    assert open_load(4, arrival="fixed", request_rate=4.0) == [0, 250_000_000, 500_000_000, 750_000_000]


def test_poisson_arrivals_are_those_of_their_seed() -> None:
    first = open_load(5, arrival="poisson", request_rate=2.0)
    assert first == open_load(5, arrival="poisson", request_rate=2.0)
    assert first != open_load(5, arrival="poisson", request_rate=2.0, seed=8)
    assert first[0] == 0
    assert first == sorted(first)


def test_a_shorter_window_has_the_same_first_arrivals() -> None:
    longer = open_load(9, arrival="poisson", request_rate=2.0)
    assert open_load(4, arrival="poisson", request_rate=2.0) == longer[:4]


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() -> None:
    planned = open_load(20_001, arrival="poisson", request_rate=50.0)
    gaps_ms = [(after - before) / 1e6 for before, after in itertools.pairwise(planned)]
    mean = sum(gaps_ms) / len(gaps_ms)
    variance = sum((gap - mean) ** 2 for gap in gaps_ms) / len(gaps_ms)
    assert abs(mean - 20) < 0.5
    assert abs(variance**0.5 - 20) < 0.7


def test_users_take_the_next_prompt_when_theirs_ended() -> None:
    found = agenda([(0,), (1,), (2,)], users=2)
    assert [found.take(), found.take(), found.due_ns()] == [(0, 1000), (1, 1000), None]
    assert found.ended(1, at_ns=1500, failed=False) == []
    assert found.take() == (2, 1500)
    assert found.ended(0, at_ns=1600, failed=False) == []
    assert found.due_ns() is None


def test_more_users_than_prompts_are_idle() -> None:
    found = agenda([(0,)], users=8)
    assert found.take() == (0, 1000)
    assert found.due_ns() is None


def test_a_user_goes_through_its_conversation_before_the_next() -> None:
    found = agenda([(0, 1), (2,)])
    found.take()
    assert found.has_next(0)
    found.ended(0, at_ns=1100, failed=False)
    assert found.take() == (1, 1100)
    assert not found.has_next(1)
    found.ended(1, at_ns=1200, failed=False)
    assert found.take() == (2, 1200)


def test_a_failed_turn_ends_its_conversation() -> None:
    found = agenda([(0, 1, 2), (3,)])
    found.take()
    assert found.ended(0, at_ns=1100, failed=True) == [(1, 0), (2, 1)]
    assert found.take() == (3, 1100)


def test_planned_turns_wait_for_their_time_and_for_the_answer() -> None:
    found = agenda([(0, 1), (2, 3)], planned=[0, 50, 10, 60])
    assert [found.take(), found.take()] == [(0, 1000), (2, 1010)]
    found.ended(0, at_ns=1020, failed=False)
    found.ended(2, at_ns=1100, failed=False)
    assert [found.take(), found.take(), found.due_ns()] == [(1, 1050), (3, 1100), None]


def test_nothing_is_sent_after_a_stop() -> None:
    found = agenda([(0, 1), (2,)])
    found.take()
    found.stop()
    assert found.ended(0, at_ns=1100, failed=False) == []
    assert found.due_ns() is None
