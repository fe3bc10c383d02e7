"""A measurement: one repetition of one cell in one server start, reduced to metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Fault = Literal[
    "under_delivered",  # the client kept fewer requests in flight than the cell asks for
    "client_busy",  # the client may have been the bottleneck
    "foreign_process",  # something else computed on the GPU
    "throttled",  # clocks were held down by heat or by the hardware
]

DELIVERED_AT_LEAST = 0.98  # of the concurrency asked for
CLIENT_CPU_AT_MOST = 0.7  # of a core
THROTTLED_AT_MOST = 0.05  # of the samples


@dataclass(frozen=True, slots=True, order=True)
class RepetitionKey:
    """Where a repetition lies; unique in the warehouse."""

    sweep_id: str
    block_id: str
    start_index: int
    attempt: int
    cell_id: str
    repetition: int  # from 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """Metrics by catalogue name (pipeline.domain.catalogue); None where undefined, never 0 or NaN."""

    key: RepetitionKey
    position: str
    started_at: str  # ISO 8601, UTC: start of the measured window
    metrics: Mapping[str, float | int | None]
    faults: tuple[Fault, ...] = ()  # what marks it; it is kept, and shown with its mark


@dataclass(frozen=True, slots=True)
class AcceptancePosition:
    """Counter differences for one draft position (0-based) over one window."""

    key: RepetitionKey
    draft_position: int
    accepted: int
    drafts: int
    unconditional: float | None = None  # accepted / drafts
    conditional: float | None = None  # accepted / accepted at the position before
