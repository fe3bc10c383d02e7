"""Events that differ from one already parsed only in their text and counts: read without parsing their JSON again.

A stream repeats itself: in hundreds of chunks only the content of the delta, `total_tokens` and `completion_tokens`
change. What surrounds them is learnt from an event that was parsed, and compared byte by byte; everything else is
parsed in full. A quote inside a JSON string is escaped, so what surrounds a string cannot occur inside it.
"""

import re
from dataclasses import dataclass
from typing import Any, Self

import orjson

_CONTENT = b'"delta":{"content":"'
_TOTAL = b'"total_tokens":'
_COMPLETION = b',"completion_tokens":'
_INSIDE_STRING = re.compile(rb'(?:[^"\\]|\\.)*')
_DIGITS = re.compile(rb"\d+")


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """`before` CONTENT `between` TOTAL `,"completion_tokens":` COMPLETION `after`."""

    before: bytes
    between: bytes
    after: bytes

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
        after = _end(_DIGITS, data, completion + len(_COMPLETION))
        return cls(before=b"data: " + data[:start], between=between, after=data[after:] + b"\n\n")

    def read(self, piece: bytes) -> tuple[str, int] | None:
        """Return content and completion tokens of a piece that is exactly one such event; None: parse it."""
        if not piece.startswith(self.before) or not piece.endswith(self.after):
            return None
        start = len(self.before)
        end = piece.find(self.between, start)
        if end < 0:
            return None
        total, _, completion = piece[end + len(self.between) : -len(self.after)].partition(_COMPLETION)
        if not (total.isdigit() and completion.isdigit()):
            return None
        content = piece[start:end]
        if b"\\" in content:
            return str(orjson.loads(b'"' + content + b'"')), int(completion)
        return content.decode(), int(completion)


def _plain(event: dict[str, Any]) -> bool:
    """Whether it is one choice with a content, no more, and the stream goes on."""
    choices, usage = event.get("choices"), event.get("usage")
    if not choices or len(choices) != 1 or not usage:
        return False
    choice = choices[0]
    return (
        list(choice.get("delta") or ()) == ["content"] and choice.get("finish_reason") is None and "text" not in choice
    )


def _end(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    found = pattern.match(data, start)
    return found.end() if found else -1
