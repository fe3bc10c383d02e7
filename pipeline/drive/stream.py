"""Server-sent events of a chat stream, parsed after the window from the reads and their times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_BODY_SHOWN = 300
_REASONING_KEYS = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Stream:
    """One answer: chunk times in ns, cumulative tokens from `usage`, and the error class if it broke."""

    chunk_ns: tuple[int, ...]
    chunk_tokens: tuple[int, ...]
    prompt_tokens: int | None
    output_tokens: int | None
    finish_reason: str | None
    text: str  # reasoning and answer, as they came
    answer: str  # without the reasoning: what the next turn of a conversation quotes
    error: str | None
    error_detail: str | None
    chunk_chars: tuple[int, ...] = ()  # cumulative characters of `text` at each chunk


def read_stream(reads: Sequence[tuple[int, bytes]], *, status: int) -> Stream:
    """Parse the reads of one response.

    A chunk's time is that of the read that completed its event. A chunk counts when its cumulative
    `usage.completion_tokens` grew: the first one of a chat holds only the role and no token; one chunk can hold
    several tokens, and a busy server merges chunks.
    """
    if status != 200:
        body = b"".join(content for _, content in reads)
        kind = "http_4xx" if 400 <= status < 500 else "http_5xx"
        return broken(kind, f"HTTP {status}: {body[:_BODY_SHOWN].decode(errors='replace')}")
    parser = _Parser()
    for at_ns, data in _events(reads):
        if data == b"[DONE]":
            parser.done = True
            continue
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError:
            return broken("broken_stream", f"not JSON: {data[:_BODY_SHOWN].decode(errors='replace')}")
        parser.take(at_ns, event)
    return parser.result()


def broken(error: str, detail: str) -> Stream:
    """Return the stream of an answer of which nothing can be used."""
    return Stream((), (), None, None, None, "", "", error, detail)


def _events(reads: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    pending = b""
    for at_ns, content in reads:
        pending += content
        *complete, pending = pending.replace(b"\r\n", b"\n").split(b"\n\n")
        for event in complete:
            data = b"\n".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
            if data:
                yield at_ns, data


class _Parser:
    """Collects the chunks of one stream."""

    def __init__(self) -> None:
        self.chunk_ns: list[int] = []
        self.chunk_tokens: list[int] = []
        self.chunk_chars: list[int] = []
        self.chars = 0
        self.texts: list[str] = []
        self.answers: list[str] = []
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        self.done = False

    def take(self, at_ns: int, event: dict[str, Any]) -> None:
        """Take one parsed event that arrived at `at_ns`."""
        if "error" in event:
            self.error = str(event["error"])[:_BODY_SHOWN]
            return
        usage = event.get("usage") or {}
        self.prompt_tokens = usage.get("prompt_tokens", self.prompt_tokens)
        total = usage.get("completion_tokens")
        if total is not None:
            self.output_tokens = total
        for choice in event.get("choices") or ():  # one choice is asked for; the final usage chunk has none
            self._take_choice(at_ns, choice, total or 0)

    def _take_choice(self, at_ns: int, choice: dict[str, Any], total: int) -> None:
        delta = choice.get("delta") or {}
        content = delta.get("content") or choice.get("text")  # of a chat, or of a completion
        for text in (*(delta.get(key) for key in _REASONING_KEYS), content):
            if text:
                self.texts.append(text)
                self.chars += len(text)
        if content:
            self.answers.append(content)
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        if total > (self.chunk_tokens[-1] if self.chunk_tokens else 0):
            self.chunk_ns.append(at_ns)
            self.chunk_tokens.append(total)
            self.chunk_chars.append(self.chars)

    def result(self) -> Stream:
        """Return the stream; an error class where it is not whole."""
        error, detail = None, None
        if self.error:
            error, detail = "http_5xx", f"the server reported an error inside the stream: {self.error}"
        elif not self.done or self.finish_reason is None:
            error, detail = "broken_stream", "the stream ended without [DONE] and a finish reason"
        elif self.output_tokens is None:
            error, detail = "broken_stream", "the stream carried no usage: output tokens are unknown"
        elif self.chunk_tokens and self.chunk_tokens[-1] != self.output_tokens:
            last = self.chunk_tokens[-1]
            error, detail = "token_mismatch", f"chunks counted {last} tokens, the final usage {self.output_tokens}"
        return Stream(
            chunk_ns=tuple(self.chunk_ns),
            chunk_tokens=tuple(self.chunk_tokens),
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            finish_reason=self.finish_reason,
            text="".join(self.texts),
            answer="".join(self.answers),
            error=error,
            error_detail=detail,
            chunk_chars=tuple(self.chunk_chars),
        )
