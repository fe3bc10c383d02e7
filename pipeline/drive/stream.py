"""Server-sent events of a chat stream, parsed after the window from the reads and their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pipeline.drive.known_event import KnownEvent

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
    pending = b""
    for at_ns, content in reads:
        if not pending and parser.take_known(at_ns, content):
            continue
        *events, pending = (pending + content).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            if problem := parser.take(at_ns, event):
                return broken("broken_stream", problem)
    return parser.result()


def broken(error: str, detail: str) -> Stream:
    """Return the stream of an answer of which nothing can be used."""
    return Stream((), (), None, None, None, "", "", error, detail)


class _Parser:
    """Collects the chunks of one stream."""

    def __init__(self) -> None:
        self.chunk_ns: list[int] = []
        self.chunk_tokens: list[int] = []
        self.chunk_chars: list[int] = []
        self.chars = 0
        self.counted = 0  # tokens of the chunks so far
        self.texts: list[str] = []
        self.answers: list[str] = []
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        self.done = False
        self.known: KnownEvent | None = None

    def take_known(self, at_ns: int, piece: bytes) -> bool:
        """Take a piece that is one event like one before it; return whether it was.

        Nearly every chunk passes here: the calls that `_take_choice` makes are written out.
        """
        found = self.known.read(piece) if self.known else None
        if found is None:
            return False
        content, self.output_tokens = found
        if content:
            self.answers.append(content)
            self.texts.append(content)
            self.chars += len(content)
        if self.output_tokens > self.counted:
            self.counted = self.output_tokens
            self.chunk_ns.append(at_ns)
            self.chunk_tokens.append(self.counted)
            self.chunk_chars.append(self.chars)
        return True

    def take(self, at_ns: int, event: bytes) -> str | None:
        """Take one event that arrived at `at_ns`; return why it cannot be read."""
        data = b"\n".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
        if data == b"[DONE]":
            self.done = True
        elif data:
            try:
                parsed = orjson.loads(data)
            except orjson.JSONDecodeError:
                return f"not JSON: {data[:_BODY_SHOWN].decode(errors='replace')}"
            if not isinstance(parsed, dict):
                return f"not an object: {data[:_BODY_SHOWN].decode(errors='replace')}"
            self._take_event(at_ns, parsed)
            self.known = self.known or KnownEvent.learn(data, parsed)
        return None

    def _take_event(self, at_ns: int, event: dict[str, Any]) -> None:
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
        for key in _REASONING_KEYS:
            if delta.get(key):
                self._take_text(delta[key])
        self._take_content(delta.get("content") or choice.get("text") or "")  # of a chat, or of a completion
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        self._take_tokens(at_ns, total)

    def _take_content(self, content: str) -> None:
        if content:
            self.answers.append(content)
            self._take_text(content)

    def _take_text(self, text: str) -> None:
        self.texts.append(text)
        self.chars += len(text)

    def _take_tokens(self, at_ns: int, total: int) -> None:
        if total > self.counted:
            self.counted = total
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
