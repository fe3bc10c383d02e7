"""Streams: tokens from usage, chunk times from arrival, a broken one named."""

from pathlib import Path

import pytest

from tests.unit.drive.scripted import read_body

FIXTURES = Path(__file__).parents[2] / "support" / "fixtures" / "vllm"


def chunk(content: str = "", *, tokens: int, finish: str | None = None) -> bytes:
    delta = f'{{"content":"{content}"}}' if content else '{"role":"assistant","content":""}'
    reason = f'"{finish}"' if finish else "null"
    return (
        f'data: {{"choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}],'
        f'"usage":{{"prompt_tokens":5,"completion_tokens":{tokens}}}}}\n\n'
    ).encode()


DONE = b"data: [DONE]\n\n"
ROLE = chunk(tokens=0)


def test_the_role_chunk_is_no_token_and_a_chunk_can_hold_several() -> None:
    reads = [(10, ROLE), (20, chunk("a", tokens=1)), (30, chunk("bcd", tokens=4, finish="length")), (31, DONE)]
    stream = read_body(reads)
    assert stream.chunk_ns == (20, 30)
    assert stream.chunk_tokens == (1, 4)
    assert stream.chunk_chars == (1, 4)
    assert (stream.output_tokens, stream.prompt_tokens, stream.text, stream.error) == (4, 5, "abcd", None)


def test_an_event_is_timed_by_the_read_that_completed_it() -> None:
    whole = chunk("a", tokens=1, finish="stop")
    reads = [(10, ROLE + whole[:20]), (20, whole[20:]), (30, DONE)]
    assert read_body(reads).chunk_ns == (20,)


def test_merged_chunks_in_one_read_share_its_time() -> None:
    reads = [(10, ROLE), (20, chunk("a", tokens=1) + chunk("b", tokens=2, finish="stop") + DONE)]
    stream = read_body(reads)
    assert stream.chunk_ns == (20, 20)
    assert stream.chunk_tokens == (1, 2)


@pytest.mark.parametrize("key", [b'"reasoning"', b'"reasoning_content"'])  # of newer releases, of older ones
def test_a_reasoning_delta_is_a_token(key: bytes) -> None:
    text = chunk("x", tokens=1, finish="stop").replace(b'"content"', key)
    stream = read_body([(1, ROLE), (2, text), (3, DONE)])
    assert (stream.chunk_tokens, stream.text) == ((1,), "x")


def test_a_comment_that_keeps_the_connection_open_is_nothing() -> None:
    reads = [(1, ROLE), (2, b": ping\n\n"), (3, chunk("a", tokens=1, finish="stop")), (4, DONE)]
    assert read_body(reads).chunk_ns == (3,)


def test_zero_output_tokens_are_no_chunk() -> None:
    stream = read_body([(1, ROLE), (2, chunk(tokens=0, finish="stop")), (3, DONE)])
    assert (stream.chunk_tokens, stream.output_tokens, stream.error) == ((), 0, None)


@pytest.mark.parametrize(
    ("reads", "status", "error", "detail"),
    [
        ([(1, b'{"error":"no such model"}')], 404, "http_4xx", 'HTTP 404: {"error":"no such model"}'),
        ([(1, b"oops")], 500, "http_5xx", "HTTP 500: oops"),
        ([(1, ROLE), (2, chunk("a", tokens=1))], 200, "broken_stream", "without [DONE]"),
        ([(1, b"data: {no json}\n\n")], 200, "broken_stream", "not JSON"),
        ([(1, b'data: {"error":{"message":"engine died"}}\n\n'), (2, DONE)], 200, "http_5xx", "engine died"),
        ([], 200, "broken_stream", "without [DONE]"),
        ([(1, b"data: [1]\n\n")], 200, "broken_stream", "not an event"),
        ([(1, b'data: {"choices":[null]}\n\n')], 200, "broken_stream", "not an event"),
        ([(1, b'data: {"choices":[{"delta":{"content":5}}]}\n\n')], 200, "broken_stream", "not an event"),
        (
            [(1, chunk("a", tokens=1, finish="stop").replace(b"usage", b"other")), (2, DONE)],
            200,
            "broken_stream",
            "usage",
        ),
    ],
)
def test_what_is_not_whole_has_an_error_class(
    reads: list[tuple[int, bytes]], status: int, error: str, detail: str
) -> None:
    stream = read_body(reads, status=status)
    assert stream.error == error
    assert stream.error_detail is not None
    assert detail in stream.error_detail


def test_a_usage_that_disagrees_with_the_chunks_is_a_mismatch() -> None:
    final = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}\n\n'
    reads = [(1, ROLE), (2, chunk("a", tokens=1, finish="stop")), (3, final), (4, DONE)]
    assert read_body(reads).error == "token_mismatch"


@pytest.mark.parametrize(
    ("number", "tokens", "finish"), [(0, 96, "length"), (1, 33, "stop"), (2, 62, "stop"), (3, 96, "length")]
)
def test_captured_streams_are_read_however_the_bytes_are_cut(number: int, tokens: int, finish: str) -> None:
    content = (FIXTURES / f"cpu-0.32.0-ngram-c4.stream-{number}.sse").read_bytes()
    for size in (len(content), 700, 1):
        reads = [(i, content[i : i + size]) for i in range(0, len(content), size)]
        stream = read_body(reads)
        assert (stream.output_tokens, stream.finish_reason, stream.error) == (tokens, finish, None)
        assert stream.chunk_tokens[-1] == tokens
        assert len(stream.chunk_tokens) < tokens
