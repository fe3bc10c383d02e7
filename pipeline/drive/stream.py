"""Server-sent events of a chat stream, parsed after the window from the reads and their times."""

from collections.abc import Iterator
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


def refused(status: int, body: bytes) -> Stream:
    """Return the stream of an answer that is none: its status is not 200."""
    kind = "http_4xx" if 400 <= status < 500 else "http_5xx"
    return broken(kind, f"HTTP {status}: {body[:_BODY_SHOWN].decode(errors='replace')}")


def broken(error: str, detail: str) -> Stream:
    """Return the stream of an answer of which nothing can be used."""
    return Stream((), (), None, None, None, "", "", error, detail)


class StreamReader:
    """Collects the chunks of one stream.

    A chunk's time is that of the read that completed its event. A chunk counts when its cumulative
    `usage.completion_tokens` grew: the first one of a chat holds only the role and no token; one chunk can hold
    several tokens, and a busy server merges chunks.
    """

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
        self.problem: str | None = None  # why the rest cannot be read
        self.done = False
        self._pending = b""
        self._known: KnownEvent | None = None

    def skip_chunks(self, reads: Iterator[tuple[int, bytes]]) -> tuple[int, bytes] | None:
        """Take reads that are one chunk of one known event with one token more; return the first that is not.

        Nearly every read passes here, and nothing else may: the calls that `_take_known` makes are written out.
        """
        if self._known is None or self._pending or self.problem is not None:
            return next(reads, None)
        read_chunk, chunk_ns, chunk_chars, before = (
            self._known.read_chunk,
            self.chunk_ns,
            self.chunk_chars,
            self.counted,
        )
        texts, tokens, chars, other = [], before, self.chars, None
        for read in reads:
            text = read_chunk(read[1], tokens + 1)
            if text is None:
                other = read
                break
            tokens += 1
            chars += len(text)
            texts.append(text)
            chunk_ns.append(read[0])
            chunk_chars.append(chars)
        if texts:
            self.texts += texts
            self.answers += texts
            self.chars = chars
            self.chunk_tokens += range(before + 1, tokens + 1)
            self.counted = self.output_tokens = tokens
        return other

    def take(self, at_ns: int, piece: bytes) -> None:
        """Take a piece of the body that arrived at `at_ns`; nothing after what cannot be read."""
        *events, self._pending = (self._pending + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            if self.problem is None and not self._take_known(at_ns, event):
                self.problem = self._parse(at_ns, event)

    def _take_known(self, at_ns: int, event: bytes) -> bool:
        found = self._known.read(event) if self._known else None
        if found is None:
            return False
        content, self.output_tokens = found
        self._take_content(content)
        self._take_tokens(at_ns, self.output_tokens)
        return True

    def _parse(self, at_ns: int, event: bytes) -> str | None:
        """Take one event of any kind; return why it cannot be read."""
        data = b"\n".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
        if data == b"[DONE]":
            self.done = True
        elif data:
            shown = data[:_BODY_SHOWN].decode(errors="replace")
            try:
                parsed = orjson.loads(data)
                self._take_event(at_ns, parsed)
            except orjson.JSONDecodeError:
                return f"not JSON: {shown}"
            except (AttributeError, TypeError):
                return f"not an event of a completion: {shown}"
            self._known = self._known or KnownEvent.learn(data, parsed)
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
        if self.problem is not None:
            return broken("broken_stream", self.problem)
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
