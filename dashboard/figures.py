"""How a number is written. A missing one is a hyphen: not measured, never 0."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

MISSING = "-"


def measured(value: Any) -> bool:
    """Whether there is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(value: Any, *, digits: int = 2) -> str:
    """Write a number with `digits` decimals."""
    return f"{value:,.{digits}f}" if measured(value) else MISSING


def ratio(value: Any) -> str:
    """Write a speedup, such as `1.62x`."""
    return f"{value:.2f}x" if measured(value) else MISSING


def interval(lower: Any, upper: Any) -> str:
    """Write an interval's bounds, such as `[1.31, 2.01]`."""
    return f"[{lower:.2f}, {upper:.2f}]" if measured(lower) and measured(upper) else MISSING


def speedup(estimate: Any, lower: Any, upper: Any) -> str:
    """Write a speedup with its interval, such as `1.62x [1.31, 2.01]`."""
    if not measured(estimate):
        return MISSING
    return f"{ratio(estimate)} {interval(lower, upper)}"


def percent(value: Any, *, digits: int = 0, signed: bool = False) -> str:
    """Write a share (0.59) as `59%`; `signed` for changes."""
    return f"{100 * value:{'+' if signed else ''}.{digits}f}%" if measured(value) else MISSING


def span(values: Iterable[Any], *, digits: int = 0) -> str:
    """Write the one value, or the range, of `values`: `8`, or `8 to 16`."""
    known = sorted({value for value in values if measured(value)})
    if not known:
        return MISSING
    low, high = number(known[0], digits=digits), number(known[-1], digits=digits)
    return low if low == high else f"{low} to {high}"


def moment(value: Any) -> str:
    """Write a time as `2026-11-30 03:12 UTC`; text that is not a time is returned as it is."""
    if value is None or value != value:  # noqa: PLR0124 (NaT is not equal to itself)
        return MISSING
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M UTC")
    return str(value)


def plain(text: Any) -> str:
    """Return `text` so that Markdown prints it as it is: log lines hold `*`, `_`, `[` and `$`."""
    return "".join(f"\\{character}" if character in r"\`*_{}[]<>#$|~:" else character for character in str(text))
