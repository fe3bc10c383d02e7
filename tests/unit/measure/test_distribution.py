"""Means, medians and tails: a tail only where there are enough requests."""

import pytest

from pipeline.measure.distribution import distribution
from pipeline.measure.inter_chunk_latency import inter_chunk_latency
from pipeline.measure.ttft import ttft
from pipeline.measure.window import MeasuredWindow
from tests.support.values import make_record


def test_mean_and_median() -> None:
    found = distribution("x", [1.0, 2.0, 6.0], requests=3)
    assert (found["x_mean_ms"], found["x_median_ms"]) == (3, 2)


@pytest.mark.parametrize(
    ("requests", "p90", "p99"), [(99, None, None), (100, 89.1, None), (999, 89.1, None), (1000, 89.1, 98.01)]
)
def test_a_tail_needs_requests(requests: int, p90: float | None, p99: float | None) -> None:
    found = distribution("x", [float(i) for i in range(100)], requests=requests)
    assert (found["x_p90_ms"], found["x_p99_ms"]) == (pytest.approx(p90), pytest.approx(p99))


def test_of_nothing_everything_is_undefined() -> None:
    assert set(distribution("x", [], requests=0).values()) == {None}


def test_many_chunks_of_few_requests_are_no_tail() -> None:
    record = make_record(chunks=tuple((float(i), i + 1) for i in range(1200)))
    found = inter_chunk_latency(MeasuredWindow([record]))
    assert (found["inter_chunk_latency_mean_ms"], found["inter_chunk_latency_p90_ms"]) == (1, None)


def test_a_hundred_requests_have_a_p90_only_if_a_hundred_have_a_figure() -> None:
    records = [make_record(index=i) for i in range(100)]
    assert ttft(MeasuredWindow(records))["ttft_p90_ms"] == 10
    assert ttft(MeasuredWindow([*records[:99], make_record(error="timeout")]))["ttft_p90_ms"] is None
