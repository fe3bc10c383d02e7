"""What is read without parsing is what parsing reads."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.drive.known_event import KnownEvent, is_chunk
from pipeline.drive.response import ResponseReader
from pipeline.drive.stream import StreamReader
from tests.unit.drive.scripted import DONE, HEAD, framed, read_body, read_reads

FIXTURES = Path(__file__).parents[2] / "support" / "fixtures" / "vllm"
NASTY = [
    "word",
    "",
    '"',
    "\\",
    '\\"',
    '"},"logprobs":null',
    '"delta":{"content":"',
    ',"completion_tokens":7',
    "data: x\n\n",
    "\n",
    "\u2028",
    "é😀",
    "\x00\x1f",
    "}]}",
]


def event(content: str, tokens: int, **more: Any) -> dict[str, Any]:
    """One event as vLLM 0.32.0 writes it."""
    choice = {"index": 0, "delta": {"content": content}, "logprobs": None, "finish_reason": None, "token_ids": None}
    usage = {"prompt_tokens": 71, "total_tokens": 71 + tokens, "completion_tokens": tokens, "details": None}
    return {"id": "chatcmpl-1", "object": "chunk", "choices": [choice], "usage": usage} | more


def known(content: str = "a", tokens: int = 1) -> KnownEvent:
    parsed = event(content, tokens)
    found = KnownEvent.learn(orjson.dumps(parsed), parsed)
    assert found is not None
    return found


def piece(parsed: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(parsed)


@pytest.mark.parametrize("learnt", NASTY)
@pytest.mark.parametrize("content", NASTY)
def test_text_and_count_are_those_of_the_parsed_event(learnt: str, content: str) -> None:
    found = KnownEvent.learn(orjson.dumps(event(learnt, 9)), event(learnt, 9))
    if found is not None:  # a text that holds what is looked for is not learnt from
        assert found.read(piece(event(content, 12))) == (content, 12)


def test_every_plain_text_is_learnt_from() -> None:
    learnt = [text for text in NASTY if KnownEvent.learn(orjson.dumps(event(text, 1)), event(text, 1))]
    assert learnt == NASTY


@pytest.mark.parametrize(
    "other",
    [
        piece(event("b", 2))[:-1],  # a half one
        b": ping\n" + piece(event("b", 2)),
        piece(event("b", 2)) + b"\n" + piece(event("c", 3)),
        piece(event("b", 2)).replace(b'"content":"b"', b'"content":"b","tool_calls":"c"'),
        piece(event("b", 2)).replace(b'"b"', b'"\\q"'),  # no escape of JSON
        piece(event("b", 2)).replace(b'"b"', b'"\xff"'),  # no UTF-8
        piece(event("b", 2, id="chatcmpl-2")),
        piece(event("b", 2, choices=[])),
        piece(event("b", 2) | {"usage": {"prompt_tokens": 71, "total_tokens": 73, "completion_tokens": None}}),
        b"data: [DONE]",
        b"",
    ],
)
def test_anything_else_is_parsed(other: bytes) -> None:
    assert known().read(other) is None


@pytest.mark.parametrize(
    "other",
    [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"reasoning": "a"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}}] * 2},
        {"choices": [{"index": 0, "text": "a"}]},
        {"choices": []},
        {"usage": None},
        {"usage": {"completion_tokens": 1, "total_tokens": 72}},  # another order
        {"error": {"message": "no"}, "choices": None},
    ],
)
def test_another_kind_is_not_learnt_from(other: dict[str, Any]) -> None:
    parsed = event("a", 1) | other
    assert KnownEvent.learn(orjson.dumps(parsed), parsed) is None


@pytest.mark.parametrize("seed", range(20))
def test_streams_read_alike_with_and_without_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)  # noqa: S311 - cuts of a stream, no secret
    events, tokens = [event("", 0)], 0
    for _ in range(40):
        tokens += draw.choice([0, 1, 1, 1, 3])
        events.append(event("".join(draw.choices(NASTY, k=2)), tokens))
        if draw.random() < 0.1:
            events[-1]["choices"][0]["delta"] = {"reasoning": "hm"}
    events[-1]["choices"][0]["finish_reason"] = "stop"
    content = b"".join(piece(one) + b"\n\n" for one in events) + DONE
    reads, at = [], 0
    while at < len(content):
        whole = content.find(b"\n\n", at) + 2
        end = whole if draw.random() < 0.7 else at + draw.randint(1, 400)
        reads.append((at, content[at:end]))
        at = end
    fast = read_body(reads)
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_body(reads) == fast
    assert fast.error is None


def chunks(events: list[dict[str, Any]]) -> list[bytes]:
    """What a server of tokens writes, one write an event."""
    return [framed(piece(one) + b"\n\n") for one in events] + [framed(DONE), framed(b"")]


@pytest.mark.parametrize("seed", range(20))
def test_chunks_read_alike_with_and_without_it_however_they_arrive(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)  # noqa: S311 - cuts of a stream, no secret
    events, tokens = [event("", 0)], 0
    for _ in range(60):
        tokens += draw.choice([0, 1, 1, 1, 1, 1, 1, 3])
        events.append(event("".join(draw.choices(NASTY, k=2)) * draw.choice([1, 1, 60]), tokens))
        if draw.random() < 0.1:
            events[-1]["choices"][0]["delta"] = {"reasoning": "hm"}
    events[-1]["choices"][0]["finish_reason"] = "stop"
    waiting, reads = b"", [(0, HEAD)]
    for at_ns, written in enumerate(chunks(events), start=1):  # cut and merged as by a network
        waiting += written
        kept = draw.choice([0, 0, 0, 0, 0, 1, 2, len(waiting), draw.randrange(len(waiting))])
        arrived, waiting = waiting[: len(waiting) - kept], waiting[len(waiting) - kept :]
        reads += [(at_ns, arrived)] if arrived else []
    reads += [(99, waiting)] if waiting else []
    fast = read_reads(reads)
    assert (fast.error, fast.output_tokens) == (None, tokens)
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_reads(reads) == fast


def test_most_chunks_reach_neither_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [HEAD, *chunks([event("", 0), *(event(f"é{i}", i) for i in range(1, 40))])]
    taken: list[bytes] = []
    take = ResponseReader.take
    monkeypatch.setattr(
        ResponseReader, "take", lambda reader, at_ns, content: taken.append(content) or take(reader, at_ns, content)
    )
    stream = read_reads(list(enumerate(reads)))
    assert stream.text == "".join(f"é{i}" for i in range(1, 40))
    assert stream.chunk_ns == tuple(range(2, 41))
    assert taken == reads[:2] + reads[-2:]  # the head, the first event; the end


@pytest.mark.parametrize(
    "other",
    [
        framed(piece(event("b", 3)) + b"\n\n"),  # not one token more
        framed(piece(event("b", 2)) + b"\n"),
        framed(piece(event("b", 2)) + b"\n\n") + b"f",
        framed(piece(event("b", 2)) + b"\n\n")[1:],
        b"0" + framed(piece(event("b", 2)) + b"\n\n"),
        framed(piece(event("b", 2)) + b"\n\n").replace(b'"b"', b'"b","c":"d"'),
        framed(piece(event("b", 2)) + b"\n\n").replace(b'"b"', b'"'),
        framed(piece(event("b", 2)) + b"\n\n").replace(b'"b"', b'"\\"'),
        framed(b""),
        b"",
    ],
)
def test_a_read_that_is_not_one_chunk_with_one_token_more_is_taken_apart(other: bytes) -> None:
    assert known().read_chunk(framed(piece(event("b", 2)) + b"\n\n"), 2) == "b"
    assert known().read_chunk(other, 2) is None


def test_what_looks_like_a_chunk_inside_another_one_is_no_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = framed(piece(event("b", 1)) + b"\n\n")
    outside = framed(inside + b": kept alive\n\n")
    cut = outside.index(inside)
    ended = event("c", 9) | {"choices": [{"index": 0, "delta": {"content": "c"}, "finish_reason": "stop"}]}
    first, *rest = chunks([event("", 0), *(event("longer", tokens) for tokens in (3, 5, 7)), ended])
    pieces = [HEAD, first, outside[:cut], inside, outside[cut + len(inside) :], *rest]
    fast = read_reads(list(enumerate(pieces)))
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_reads(list(enumerate(pieces))) == fast
    assert (fast.text, fast.error) == ("blongerlongerlongerc", None)


def test_nothing_is_taken_past_an_event_that_is_not_whole_yet() -> None:
    reader = StreamReader()
    reader.take(1, piece(event("a", 1)) + b"\n\ndata: ")
    read = (2, framed(piece(event("b", 2)) + b"\n\n"))
    assert reader.skip_chunks(iter([read])) == read


def test_a_percent_sign_around_the_text_is_no_pattern() -> None:
    parsed = event("a", 1, id="100%d", model="50%") | {"usage": event("a", 1)["usage"] | {"details": "%s"}}
    found = KnownEvent.learn(orjson.dumps(parsed), parsed)
    assert found is not None
    parsed["choices"][0]["delta"]["content"] = "%"
    assert found.read_chunk(framed(piece(parsed) + b"\n\n"), 1) == "%"


@pytest.mark.parametrize("size", [5, 15, 16, 255, 256, 4095, 4096, 65535, 65536])
def test_a_chunk_of_any_size_is_told_from_its_neighbours(size: int) -> None:
    content = b"x" * size
    assert is_chunk(framed(content), content)
    assert not is_chunk(framed(content), content + b"x")
    assert not is_chunk(framed(content)[:-1], content)
    length = size - len(piece(event("", 2)) + b"\n\n")
    if length >= 0:
        assert known().read_chunk(framed(piece(event("y" * length, 2)) + b"\n\n"), 2) == "y" * length


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.sse")), ids=lambda path: path.name)
def test_captured_streams_read_alike_and_mostly_without_parsing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [part + b"\n\n" for part in path.read_bytes().split(b"\n\n") if part]
    reads = list(enumerate(pieces))
    parsed: list[bytes] = []
    loads = orjson.loads
    monkeypatch.setattr("pipeline.drive.stream.orjson.loads", lambda data: parsed.append(data) or loads(data))
    fast = read_body(reads)
    if len(pieces) > 10:
        assert len(parsed) < len(pieces)
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_body(reads) == fast
