"""Events that differ from one already parsed only in their text and counts: read without parsing their JSON again.

A stream repeats itself: in hundreds of chunks only the content of the delta, `total_tokens` and `completion_tokens`
change. What surrounds them is learnt from an event that was parsed, and compared byte by byte; everything else is
parsed in full. What lies between is a text only where it holds no bare quote: a quote inside a JSON string is escaped.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

_CONTENT = b'"delta":{"content":"'
_TOTAL = b'"total_tokens":'
_COMPLETION = b',"completion_tokens":'
_INSIDE_STRING = re.compile(rb'(?:[^"\\]|\\.)*')
_DIGITS = re.compile(rb"\d+")
_FRAME = len(b"\r\n" + b"\r\n")  # of a chunk of the transfer-encoding, besides its size in hexadecimal


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """`before` CONTENT `between` TOTAL `,"completion_tokens":` COMPLETION `after`."""

    before: bytes
    between: bytes
    after: bytes
    uncounted: int  # TOTAL - COMPLETION: the tokens of the prompt
    _tail: bytes  # pattern of what follows the content in a read that is one chunk of the transfer-encoding
    _heads: dict[int, bytes] = field(default_factory=dict)  # by the bytes of such a read: its size line and `before`

    @classmethod
    def learn(cls, data: bytes, event: dict[str, Any]) -> Self | None:
        """Return what surrounds the content and the counts of `event`, parsed from `data`; None: it is another kind."""
        if not _plain(event) or data.count(_CONTENT) != 1 or data.count(_COMPLETION) != 1:
            return None
        start = data.index(_CONTENT) + len(_CONTENT)
        end = _end(_INSIDE_STRING, data, start)
        total = data.find(_TOTAL, end) + len(_TOTAL)
        completion = data.index(_COMPLETION)
        if total < end or _end(_DIGITS, data, total) != completion:
            return None
        between = data[end:total]
        counted = _end(_DIGITS, data, completion + len(_COMPLETION))
        after = data[counted:]
        return cls(
            before=b"data: " + data[:start],
            between=between,
            after=after,
            uncounted=int(data[total:completion]) - int(data[completion + len(_COMPLETION) : counted]),
            _tail=_literal(between) + b"%d" + _COMPLETION + b"%d" + _literal(after) + b"\n\n\r\n",
        )

    def read(self, event: bytes) -> tuple[str, int] | None:
        """Return content and completion tokens of an event (without the blank line after it); None: parse it."""
        if not event.startswith(self.before) or not event.endswith(self.after):
            return None
        start = len(self.before)
        end = event.find(self.between, start)
        if end < 0:
            return None
        total, _, completion = event[end + len(self.between) : len(event) - len(self.after)].partition(_COMPLETION)
        if not (total.isdigit() and completion.isdigit()):
            return None
        try:
            text = _unescaped(event[start:end].decode())
        except UnicodeDecodeError:
            return None
        return None if text is None else (text, int(completion))

    def read_chunk(self, read: bytes, tokens: int, /) -> str | None:
        """Return the content of a read that is one chunk of the transfer-encoding with one such event of `tokens`.

        Its size line is known from its length, and its end from the count: two comparisons are all that most reads
        need. None: take it apart.
        """
        length = len(read)
        head = self._heads.get(length) or self._head(length)
        tail = self._tail % (self.uncounted + tokens, tokens)
        start, end = len(head), length - len(tail)
        if start > end or not (read.startswith(head) and read.endswith(tail)):
            return None
        try:
            text = read[start:end].decode()
        except UnicodeDecodeError:
            return None
        return _unescaped(text) if '"' in text or "\\" in text else text

    def _head(self, length: int) -> bytes:
        sizes = (length - _FRAME - digits for digits in range(1, 9))
        size = next((size for digits, size in enumerate(sizes, start=1) if len(f"{size:x}") == digits), 0)
        head = self._heads[length] = f"{size:x}\r\n".encode() + self.before
        return head


def is_chunk(read: bytes, content: bytes) -> bool:
    """Whether a read is one chunk of the transfer-encoding that holds `content`: the next read begins another one."""
    return read == f"{len(content):x}\r\n".encode() + content + b"\r\n"


def _unescaped(inside: str) -> str | None:
    """Return what the inside of a JSON string means; None: it is no such thing."""
    try:
        return str(orjson.loads(f'"{inside}"'))
    except orjson.JSONDecodeError:
        return None


def _plain(event: dict[str, Any]) -> bool:
    """Whether it is one choice with a content, no more, and the stream goes on."""
    choices, usage = event.get("choices"), event.get("usage")
    if not choices or len(choices) != 1 or not usage:
        return False
    choice = choices[0]
    return (
        list(choice.get("delta") or ()) == ["content"] and choice.get("finish_reason") is None and "text" not in choice
    )


def _literal(content: bytes) -> bytes:
    return content.replace(b"%", b"%%")


def _end(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    found = pattern.match(data, start)
    return found.end() if found else -1
