"""The steady part of a window: after ramp-up, before the tail.

Closed loop: from the first moment at which the cell's concurrency is in flight to the last one at which it is. A dip in
between stays inside: it is the client's doing, and `delivered_concurrency` shows it. Open loop: from the first to the
last scheduled send, while new requests keep coming. Derived from the records (sent, end), never sent by the client.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.domain.request import Phase, RequestRecord
from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics


@dataclass(frozen=True, slots=True)
class Steady:
    """A part of a window, ns on the clock of the records."""

    begin_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.begin_ns


def steady_part(records: Sequence[RequestRecord], *, concurrency: int | None) -> Steady | None:
    """Return the steady part; None when the load was never whole (fewer requests than users), or lasted no time."""
    if concurrency is None:
        scheduled = [record.scheduled_ns for record in records]
        found = Steady(min(scheduled), max(scheduled)) if scheduled else None
    else:
        full = [(at, later) for at, later, number in _in_flight(records) if number >= concurrency]
        found = Steady(full[0][0], full[-1][1]) if full else None
    return found if found and found.duration_ns > 0 else None


def phases(window: MeasuredWindow) -> list[Phase | None]:
    """Return each request's phase: sent before the steady part, ended after it, or all inside; None without one."""
    part = steady_part(window.records, concurrency=window.concurrency)
    return [None if part is None else _phase(record, part) for record in window.records]


def _phase(record: RequestRecord, part: Steady) -> Phase:
    if record.sent_ns < part.begin_ns:
        return "ramp_up"
    return "tail" if record.end_ns > part.end_ns else "steady"


def steady(window: MeasuredWindow) -> Metrics:
    """Return `steady_s`, `steady_output_tokens_per_s` and `delivered_concurrency`.

    steady_output_tokens_per_s: tokens of chunks that arrived inside the steady part, of requests that succeeded /
    steady_s, tokens/s. delivered_concurrency: time integral of requests in flight over it / (steady_s x concurrency), a
    share; undefined in an open loop. All undefined without a steady part.
    """
    part = steady_part(window.records, concurrency=window.concurrency)
    if part is None:
        return {"steady_s": None, "steady_output_tokens_per_s": None, "delivered_concurrency": None}
    tokens = sum(_tokens_inside(record, part) for record in window.good)
    return {
        "steady_s": part.duration_ns / 1e9,
        "steady_output_tokens_per_s": ratio(tokens, part.duration_ns / 1e9) if window.good else None,
        "delivered_concurrency": _delivered(window.records, part, concurrency=window.concurrency),
    }


def _delivered(records: Sequence[RequestRecord], part: Steady, *, concurrency: int | None) -> float | None:
    if concurrency is None:
        return None
    busy_ns = sum(max(0, min(r.end_ns, part.end_ns) - max(r.sent_ns, part.begin_ns)) for r in records)
    return busy_ns / (part.duration_ns * concurrency)


def _tokens_inside(record: RequestRecord, part: Steady) -> int:
    first = bisect_left(record.chunk_ns, part.begin_ns)
    after = bisect_right(record.chunk_ns, part.end_ns)
    cumulative = (0, *record.chunk_tokens)
    return cumulative[after] - cumulative[first]


def _in_flight(records: Sequence[RequestRecord]) -> Iterator[tuple[int, int, int]]:
    """Yield (from ns, to ns, requests in flight). At one moment ends come before sends: they are the same user's."""
    events = sorted([(r.sent_ns, 1) for r in records] + [(r.end_ns, -1) for r in records])
    number = 0
    for (at_ns, change), (later_ns, _) in pairwise(events):
        number += change
        yield at_ns, later_ns, number
