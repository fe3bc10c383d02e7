"""A measurement: one repetition of one cell in one server start, reduced to metrics."""

from collections.abc import Mapping
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class AcceptancePosition:
    """Counter differences for one draft position (0-based) over one window."""

    key: RepetitionKey
    draft_position: int
    accepted: int
    drafts: int
