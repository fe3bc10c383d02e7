"""Ramp-up and tail are left out: phases derived from what was sent and when it ended."""

import pytest

from pipeline.measure.steady import Steady, phases, steady, steady_part
from pipeline.measure.window import MeasuredWindow
from tests.support.values import MS, make_record


def request(sent_ms: float, end_ms: float, **changes: object):
    """A request whose two tokens arrive in its middle and at its end."""
    middle = (sent_ms + end_ms) / 2
    return make_record(sent_ms=sent_ms, chunks=((middle, 1), (end_ms, 2)), end_ns=int(end_ms * MS), **changes)


def test_steady_lasts_from_the_first_to_the_last_moment_with_the_whole_load() -> None:
    records = [request(0, 30), request(10, 20), request(20, 40)]  # two at once from 10 to 30
    assert steady_part(records, concurrency=2) == Steady(10 * MS, 30 * MS)


def test_a_user_who_sends_again_at_once_leaves_no_gap() -> None:
    records = [request(0, 10), request(10, 20), request(20, 30)]
    assert steady_part(records, concurrency=1) == Steady(0, 30 * MS)
    assert steady(MeasuredWindow(records, concurrency=1))["delivered_concurrency"] == 1


def test_a_client_that_dawdles_delivers_less() -> None:
    records = [request(0, 10), request(15, 25)]
    assert steady(MeasuredWindow(records, concurrency=1))["delivered_concurrency"] == 20 / 25


def test_tokens_of_ramp_up_and_tail_do_not_count() -> None:
    records = [request(0, 30), request(10, 20), request(20, 40)]
    found = steady(MeasuredWindow(records, concurrency=2))
    # inside 10-30 ms: at 15 and 30 of the first, at 15 and 20 of the second, at 30 of the third; at 40 is tail
    assert found["steady_output_tokens_per_s"] == pytest.approx(5 / 0.02)
    assert found["delivered_concurrency"] == (20 + 10 + 10) / (20 * 2)
    assert found["steady_s"] == 0.02


def test_each_request_is_of_ramp_up_of_the_tail_or_steady() -> None:
    records = [request(0, 30), request(10, 20), request(20, 40)]  # two at once from 10 to 30
    assert phases(MeasuredWindow(records, concurrency=2)) == ["ramp_up", "steady", "tail"]
    assert phases(MeasuredWindow(records, concurrency=3)) == [None, None, None]


def test_a_chunk_of_many_tokens_counts_with_those_it_brought() -> None:
    record = make_record(sent_ms=0, chunks=((10, 3), (20, 8)))
    assert steady(MeasuredWindow([record], concurrency=1))["steady_output_tokens_per_s"] == pytest.approx(8 / 0.02)


@pytest.mark.parametrize("records", [[], [request(0, 10)], [request(0, 10), request(10, 20)]])
def test_a_load_that_was_never_whole_has_no_steady_part(records: list) -> None:
    assert set(steady(MeasuredWindow(records, concurrency=2)).values()) == {None}


def test_an_open_loop_is_steady_while_requests_keep_coming() -> None:
    records = [request(0, 50), request(20, 60), request(40, 90)]
    found = steady(MeasuredWindow(records, concurrency=None))
    assert (found["steady_s"], found["delivered_concurrency"]) == (0.04, None)
    assert found["steady_output_tokens_per_s"] == pytest.approx(2 / 0.04)  # at 25 and at 40 ms


def test_failed_requests_are_in_flight_and_give_no_tokens() -> None:
    records = [request(0, 10, error="timeout"), request(10, 20)]
    found = steady(MeasuredWindow(records, concurrency=1))
    assert (found["delivered_concurrency"], found["steady_output_tokens_per_s"]) == (1, pytest.approx(2 / 0.02))
