"""Everything that the metrics of one window are computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.domain.engine import EngineFacts
from pipeline.domain.request import ClientFacts, RequestRecord
from pipeline.domain.slo import DEFAULT_SLO, Slo
from pipeline.domain.telemetry import TelemetrySample
from pipeline.measure.counters import CounterWindow

Metrics = dict[str, float | int | None]
Texts = Mapping[tuple[str, int], str]  # (prompt id, seed) -> output


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """One repetition as recorded, and what was known of its start. The properties are what most metrics begin from."""

    records: Sequence[RequestRecord]
    counters: CounterWindow = field(default_factory=CounterWindow)
    concurrency: int | None = None  # asked for; None in an open loop
    temperature: float = 0.0
    client: ClientFacts | None = None  # None: not recorded
    samples: Sequence[TelemetrySample] | None = None  # None: no telemetry
    facts: EngineFacts = field(default_factory=EngineFacts)  # of this start
    baseline_facts: EngineFacts | None = None  # of the block's baseline; None for a baseline
    reference: Texts | None = None  # outputs to compare with; None: nothing to compare, or this is the reference
    slo: Slo = DEFAULT_SLO
    usd_per_gpu_hour: float | None = None
    gpus: int = 0

    @property
    def good(self) -> list[RequestRecord]:
        """The requests that succeeded."""
        return [record for record in self.records if not record.failed]

    @property
    def begin_ns(self) -> int | None:
        """First send; None when nothing was sent."""
        return min((record.sent_ns for record in self.records), default=None)

    @property
    def end_ns(self) -> int | None:
        """Last end; None when nothing was sent."""
        return max((record.end_ns for record in self.records), default=None)

    @property
    def window_s(self) -> float | None:
        """Last end - first send; None when nothing was sent."""
        if self.begin_ns is None or self.end_ns is None:
            return None
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def output_tokens(self) -> int:
        """Sum of usage.completion_tokens of requests that succeeded."""
        return sum(record.output_tokens or 0 for record in self.good)
