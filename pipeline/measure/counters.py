"""Counter differences over a window, from two /metrics texts of one drained server."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from pipeline.errors import GateFailed

GENERATED = "vllm:generation_tokens_total"
DRAFTS = "vllm:spec_decode_num_drafts_total"
DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
ACCEPTED_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
PREEMPTIONS = "vllm:num_preemptions_total"
ITL_COUNT = "vllm:inter_token_latency_seconds_count"
ITL_SUM = "vllm:inter_token_latency_seconds_sum"
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"

_WANTED = frozenset(
    {
        GENERATED,
        DRAFTS,
        DRAFTED,
        ACCEPTED,
        ACCEPTED_PER_POSITION,
        PREEMPTIONS,
        ITL_COUNT,
        ITL_SUM,
        RUNNING,
        WAITING,
    }
)


class CounterReset(GateFailed):
    """A counter is smaller after the window than before it: the server restarted, the repetition is void."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """The samples we use, summed over engines (data parallel); absent names were not exposed by this version."""

    totals: Mapping[str, float]
    accepted_per_position: Mapping[int, float] = field(default_factory=dict)


def read_scrape(text: str) -> Scrape:
    """Parse /metrics. `_created` twins hold timestamps and are not counters: only exact names are taken."""
    totals: dict[str, float] = defaultdict(float)
    positions: dict[int, float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name not in _WANTED:
                continue
            if sample.name == ACCEPTED_PER_POSITION:
                positions[int(sample.labels["position"])] += sample.value
            else:
                totals[sample.name] += sample.value
    return Scrape(totals=dict(totals), accepted_per_position=dict(positions))


def in_flight(text: str) -> float | None:
    """Return requests running plus waiting; None when this version does not say."""
    totals = read_scrape(text).totals
    if RUNNING not in totals and WAITING not in totals:
        return None
    return totals.get(RUNNING, 0.0) + totals.get(WAITING, 0.0)


@dataclass(frozen=True, slots=True)
class CounterWindow:
    """Differences over one window; None where the counter is not exposed."""

    generated_tokens: int | None
    drafts: int | None
    drafted_tokens: int | None
    accepted_tokens: int | None
    accepted_per_position: tuple[int, ...]
    preemptions: int | None
    engine_steps: int | None
    step_seconds: float | None


def difference(before: str, after: str) -> CounterWindow:
    """Return the counters' differences. Raises CounterReset when one went down.

    A counter that first appears inside the window started from 0 (labelled counters appear at first use).
    """
    first, last = read_scrape(before), read_scrape(after)

    def delta(name: str) -> float | None:
        if name not in last.totals:
            return None
        change = last.totals[name] - first.totals.get(name, 0.0)
        if change < 0:
            message = f"{name} fell from {first.totals[name]:.0f} to {last.totals[name]:.0f} in the window"
            raise CounterReset(message)
        return change

    def count(name: str) -> int | None:
        change = delta(name)
        return None if change is None else round(change)

    per_position = tuple(
        round(last.accepted_per_position[p] - first.accepted_per_position.get(p, 0.0))
        for p in sorted(last.accepted_per_position)
    )
    return CounterWindow(
        generated_tokens=count(GENERATED),
        drafts=count(DRAFTS),
        drafted_tokens=count(DRAFTED),
        accepted_tokens=count(ACCEPTED),
        accepted_per_position=per_position,
        preemptions=count(PREEMPTIONS),
        engine_steps=count(ITL_COUNT),
        step_seconds=delta(ITL_SUM),
    )
