"""One request over a real socket: every way in which bytes arrive, and every way in which they do not."""

import itertools
import socket
import threading

import pytest

from pipeline.domain.workload import Prompt
from tests.unit.drive.loads import driven, one
from tests.unit.drive.scripted import DONE, HEAD, Hang, Pause, Reset, Step, answer, chunk, framed, serving

pytestmark = pytest.mark.loopback

WHOLE = answer("a", "bc")
SLOW = 0.03


def test_a_chunk_has_the_time_at_which_it_arrived() -> None:
    steps: list[Step] = [step for piece in WHOLE for step in (piece, Pause(0.01))]
    with serving(lambda number, body: steps) as server:
        found = one(server.url)
    (sent,) = server.sent_ns
    assert (found.chunk_tokens, found.error) == ((1, 2), None)
    for at_ns, sent_ns, next_ns in zip(found.chunk_ns, sent[2:4], sent[3:5], strict=True):
        assert sent_ns <= at_ns < next_ns
    assert (found.first_chunk_ns, found.last_chunk_ns) == found.chunk_ns


def test_a_slow_start_is_waited_for() -> None:
    with serving(lambda number, body: [Pause(SLOW), HEAD, Pause(SLOW), *WHOLE[1:]]) as server:
        found = one(server.url)
    assert found.error is None
    assert found.first_chunk_ns is not None
    assert found.first_chunk_ns - found.sent_ns >= 2 * SLOW * 1e9


def test_an_event_that_is_split_has_the_time_of_its_end() -> None:
    event = framed(chunk("a", tokens=1, finish="stop"))
    steps = [HEAD, framed(chunk(tokens=0)), event[:40], Pause(SLOW), event[40:], framed(DONE), framed(b"")]
    with serving(lambda number, body: steps) as server:
        found = one(server.url)
    assert found.chunk_ns[0] >= server.sent_ns[0][3]
    assert found.text == "a"


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
def test_however_the_bytes_are_cut_the_answer_is_the_same(size: int) -> None:
    content = b"".join(step for step in WHOLE if isinstance(step, bytes))
    cuts = [*range(0, len(content), size), len(content)]
    with serving(lambda number, body: [content[a:b] for a, b in itertools.pairwise(cuts)]) as server:
        found = one(server.url)
    assert (found.text, found.chunk_tokens, found.finish_reason, found.error) == ("abc", (1, 2), "stop", None)


@pytest.mark.parametrize("size", [1, 7, 60, len(b"".join(step for step in WHOLE[1:] if isinstance(step, bytes)))])
def test_what_a_read_leaves_behind_is_read_though_it_is_announced_once(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.drive.loop.READ_BYTES", size)
    rest = b"".join(step for step in WHOLE[1:] if isinstance(step, bytes))
    with serving(lambda number, body: [HEAD, Pause(SLOW), rest]) as server:
        found = one(server.url)
    assert (found.text, found.chunk_tokens, found.finish_reason, found.error) == ("abc", (1, 2), "stop", None)


def test_events_in_one_write_share_their_time() -> None:
    events = b"".join(framed(chunk(text, tokens=n)) for n, text in enumerate(["", "a", "b"]))
    end = framed(chunk("c", tokens=3, finish="length") + DONE) + framed(b"")
    with serving(lambda number, body: [HEAD + events, Pause(SLOW), end]) as server:
        found = one(server.url)
    assert found.chunk_tokens == (1, 2, 3)
    assert found.chunk_ns[0] == found.chunk_ns[1] < found.chunk_ns[2]


@pytest.mark.parametrize("split", [1, 3, 5])
def test_a_server_that_keeps_the_connection_ends_its_answer_with_the_last_chunk(split: int) -> None:
    head = HEAD.replace(b"Connection: close\r\n", b"")
    content = b"".join([head, *(step for step in WHOLE[1:] if isinstance(step, bytes))])
    with serving(lambda number, body: [content[:-split], Pause(0.01), content[-split:], Hang()]) as server:
        found = one(server.url)
    assert (found.text, found.error) == ("abc", None)


def test_an_answer_with_a_length_ends_there() -> None:
    body = b'{"error":{"message":"max_tokens is too large"}}'
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    with serving(lambda number, _: [head, Pause(0.01), body, Hang()]) as server:
        found = one(server.url)
    assert (found.error, found.error_detail) == ("http_4xx", f"HTTP 400: {body.decode()}")
    assert (found.output_tokens, found.first_chunk_ns) == (None, None)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    with serving(lambda number, body: [b"HTTP/1.1 503 Busy\r\n\r\nso", Pause(0.01), b"rry"]) as server:
        found = one(server.url)
    assert (found.error, found.error_detail) == ("http_5xx", "HTTP 503: sorry")


def test_a_server_that_resets_breaks_the_stream() -> None:
    with serving(lambda number, body: [*WHOLE[:3], Pause(SLOW), Reset()]) as server:
        found = one(server.url)
    assert found.error == "broken_stream"
    assert "Connection reset" in (found.error_detail or "")
    assert found.chunk_tokens == (1,)


@pytest.mark.parametrize(("steps", "detail"), [(WHOLE[:3], "without [DONE]"), ([], "closed without an answer")])
def test_a_server_that_stops_half_way_breaks_the_stream(steps: list[Step], detail: str) -> None:
    with serving(lambda number, body: steps) as server:
        found = one(server.url)
    assert found.error == "broken_stream"
    assert detail in (found.error_detail or "")


def test_what_is_not_http_is_a_broken_stream() -> None:
    with serving(lambda number, body: [b"SSH-2.0-OpenSSH_9.6\r\n"]) as server:
        found = one(server.url)
    assert found.error == "broken_stream"
    assert "not HTTP" in (found.error_detail or "")


def test_nobody_there_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    found = one(f"http://127.0.0.1:{port}")
    assert (found.error, found.text, found.output_tokens) == ("refused", None, None)
    assert str(port) in (found.error_detail or "")
    assert found.sent_ns <= found.end_ns


def test_a_server_that_accepts_and_says_nothing_is_a_timeout() -> None:
    with serving(lambda number, body: [Hang()]) as server:
        found = one(server.url, request_timeout_s=0.2)
    assert (found.error, found.first_chunk_ns, found.output_tokens) == ("timeout", None, None)


def test_a_server_that_nobody_accepts_for_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = one(f"http://127.0.0.1:{listener.getsockname()[1]}", request_timeout_s=0.2)
    assert found.error == "timeout"


def test_a_long_prompt_is_sent_whole() -> None:
    long = "x" * 20_000_000  # more than the buffers of both sides
    prompt = Prompt("p", "json", (("user", long),))
    with serving(lambda number, body: WHOLE) as server:
        found = one(server.url, prompts=[prompt], request_timeout_s=60)
    assert found.error is None
    assert server.bodies[0]["messages"][0]["content"] == long


def test_a_server_that_answers_before_it_has_read_all_is_heard() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def refuse() -> None:
            connection, _ = listener.accept()
            connection.recv(100)
            connection.sendall(refusal)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass
            connection.close()

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        prompt = Prompt("p", "json", (("user", "x" * 20_000_000),))
        found = one(url, prompts=[prompt], request_timeout_s=60)
        thread.join(timeout=10)
    assert (found.error, found.error_detail) == ("http_4xx", "HTTP 413: big")


def test_many_streams_at_once_keep_apart() -> None:
    with serving(lambda number, body: answer(body["messages"][0]["content"], "!")) as server:
        found = driven(server.url, 64, concurrency=32)
    assert [record.text for record in found.requests] == [f"p{i}!" for i in range(64)]
    assert all(
        later >= earlier for r in found.requests for earlier, later in zip(r.chunk_ns, r.chunk_ns[1:], strict=False)
    )


def test_a_reasoning_delta_is_a_token() -> None:
    events = [chunk(tokens=0), chunk("hm", tokens=1, key="reasoning"), chunk("a", tokens=2, finish="stop"), DONE, b""]
    with serving(lambda number, body: [HEAD, *map(framed, events)]) as server:
        found = one(server.url)
    assert (found.chunk_tokens, found.text) == ((1, 2), "hma")


def test_a_count_that_disagrees_is_a_mismatch() -> None:
    final = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}\n\n'
    events = [chunk(tokens=0), chunk("a", tokens=1, finish="stop"), final, DONE, b""]
    with serving(lambda number, body: [HEAD, *map(framed, events)]) as server:
        found = one(server.url)
    assert found.error == "token_mismatch"
