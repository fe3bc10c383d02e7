"""What is read without parsing is what parsing reads."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.drive.known_event import KnownEvent
from pipeline.drive.stream import read_stream
from tests.unit.drive.scripted import DONE

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
    return b"data: " + orjson.dumps(parsed) + b"\n\n"


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
        piece(event("b", 2)) + piece(event("c", 3)),  # two events in one read
        piece(event("b", 2))[:-1],  # a half one
        b": ping\n\n" + piece(event("b", 2)),
        piece(event("b", 2, id="chatcmpl-2")),
        piece(event("b", 2, choices=[])),
        piece(event("b", 2) | {"usage": {"prompt_tokens": 71, "total_tokens": 73, "completion_tokens": None}}),
        b"data: [DONE]\n\n",
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
    content = b"".join(map(piece, events)) + DONE
    reads, at = [], 0
    while at < len(content):
        whole = content.find(b"\n\n", at) + 2
        end = whole if draw.random() < 0.7 else at + draw.randint(1, 400)
        reads.append((at, content[at:end]))
        at = end
    fast = read_stream(reads, status=200)
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_stream(reads, status=200) == fast
    assert fast.error is None


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.sse")), ids=lambda path: path.name)
def test_captured_streams_read_alike_and_mostly_without_parsing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [part + b"\n\n" for part in path.read_bytes().split(b"\n\n") if part]
    reads = list(enumerate(pieces))
    parsed: list[bytes] = []
    loads = orjson.loads
    monkeypatch.setattr("pipeline.drive.stream.orjson.loads", lambda data: parsed.append(data) or loads(data))
    fast = read_stream(reads, status=200)
    if len(pieces) > 10:
        assert len(parsed) < len(pieces)
    monkeypatch.setattr(KnownEvent, "learn", lambda *_: None)
    assert read_stream(reads, status=200) == fast
