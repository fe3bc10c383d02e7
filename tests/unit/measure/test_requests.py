"""Figures of one request, from small integers."""

import pytest

from pipeline.measure.requests import e2e_latency_ms, inter_chunk_ms, rows, tpot_ms, ttft_ms
from tests.support.values import MS, make_record


def test_times_of_one_request() -> None:
    record = make_record(sent_ms=2, chunks=((12, 1), (22, 3), (42, 5)))
    assert ttft_ms(record) == 10
    assert e2e_latency_ms(record) == 40
    assert tpot_ms(record) == 30 / 4
    assert inter_chunk_ms(record) == [10, 20]


def test_tokens_of_the_first_chunk_do_not_count_for_tpot() -> None:
    assert tpot_ms(make_record(chunks=((10, 3), (30, 5)))) == 20 / 2


@pytest.mark.parametrize("chunks", [(), ((10, 1),), ((10, 4),)])
def test_tpot_is_undefined_without_a_token_after_the_first_chunk(chunks: tuple) -> None:
    assert tpot_ms(make_record(chunks=chunks)) is None


def test_a_failed_request_has_no_times() -> None:
    record = make_record(error="timeout")
    assert (ttft_ms(record), e2e_latency_ms(record), tpot_ms(record), inter_chunk_ms(record)) == (None, None, None, [])


def test_rows_keep_figures_and_a_hash_but_no_text() -> None:
    (row,) = rows([make_record(sent_ms=5)], origin_ns=MS, phases=["tail"])
    assert row.sent_offset_ms == 4
    assert (row.chunks, row.first_chunk_tokens) == (2, 1)
    assert row.text_hash is not None
    assert row.phase == "tail"
    assert not hasattr(row, "text")
