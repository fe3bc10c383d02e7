"""Counter differences over a window, from two /metrics texts of one drained server."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import GateFailed

# What we call a counter, and its names in vLLM: the newest first. Releases that rename one expose both for a while,
# with equal values, so the first name that is there is taken and never their sum.
COUNTERS: dict[str, tuple[str, ...]] = {
    "generated_tokens": ("vllm:generation_tokens_total",),
    "drafts": ("vllm:spec_decode_num_drafts_total",),
    "drafted_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
    "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens_total",),
    "preemptions": ("vllm:num_preemptions_total",),
    "engine_steps": ("vllm:inter_token_latency_seconds_count", "vllm:time_per_output_token_seconds_count"),
    "prefix_cache_queries": ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    "prefix_cache_hits": ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
    "first_tokens": ("vllm:time_to_first_token_seconds_count",),
}
SECONDS: dict[str, tuple[str, ...]] = {
    "step_seconds": ("vllm:inter_token_latency_seconds_sum", "vllm:time_per_output_token_seconds_sum"),
    "first_token_seconds": ("vllm:time_to_first_token_seconds_sum",),
    "queue_seconds": ("vllm:request_queue_time_seconds_sum",),
    "prefill_seconds": ("vllm:request_prefill_time_seconds_sum",),
    "decode_seconds": ("vllm:request_decode_time_seconds_sum",),
    "inference_seconds": ("vllm:request_inference_time_seconds_sum",),
}
ACCEPTED_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
KV_CACHE_USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")

_SUMMED = frozenset({name for names in (*COUNTERS.values(), *SECONDS.values()) for name in names} | {RUNNING, WAITING})
_GAUGES = frozenset({RUNNING, WAITING, *KV_CACHE_USAGE})
_POSITION = re.compile(r'(?:^|,)\s*position="(\d+)"')
_READ = tuple(f"{name}{{" for name in (*_SUMMED, *KV_CACHE_USAGE, ACCEPTED_PER_POSITION))


class CounterReset(GateFailed):
    """A counter is smaller after the window than before it: the server restarted, the repetition is void."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """The samples we use, summed over engines (data parallel); absent names were not exposed by this version."""

    totals: Mapping[str, float]
    accepted_per_position: Mapping[int, float] = field(default_factory=dict)
    kv_cache_usage: float | None = None  # 0-1, of the fullest engine
    series: Mapping[str, float] = field(default_factory=dict)  # every counter by name and labels, not summed


def read_scrape(text: str) -> Scrape:
    """Parse /metrics. `_created` twins hold timestamps and are not counters: only exact names are taken.

    A parser for every line takes most of the time of reducing a window, so only lines of names that we use are read:
    `name{labels} value`, the value maybe followed by a time.
    """
    totals: dict[str, float] = defaultdict(float)
    positions: dict[int, float] = defaultdict(float)
    usage: dict[str, float] = {}
    series: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith(_READ):
            continue
        name, _, rest = line.partition("{")
        labels, _, values = rest.rpartition("}")
        value = float(values.split()[0])
        if name not in _GAUGES:
            series[f"{name}{{{labels}}}"] = value
        if name == ACCEPTED_PER_POSITION:
            positions[_position(labels)] += value
        elif name in KV_CACHE_USAGE:
            usage[name] = max(value, usage.get(name, 0.0))
        else:
            totals[name] += value
    return Scrape(
        totals=dict(totals),
        accepted_per_position=dict(positions),
        kv_cache_usage=next((usage[name] for name in KV_CACHE_USAGE if name in usage), None),
        series=series,
    )


def _position(labels: str) -> int:
    found = _POSITION.search(labels)
    if found is None:
        message = f"{ACCEPTED_PER_POSITION} names no position: {labels}"
        raise ValueError(message)
    return int(found[1])


def in_flight(text: str) -> float | None:
    """Return requests running plus waiting; None when this version does not say."""
    totals = read_scrape(text).totals
    if RUNNING not in totals and WAITING not in totals:
        return None
    return totals.get(RUNNING, 0.0) + totals.get(WAITING, 0.0)


def kv_cache_usage(text: str) -> float | None:
    """Return the share of KV cache in use, of the fullest engine; None when this version does not say."""
    return read_scrape(text).kv_cache_usage


@dataclass(frozen=True, slots=True)
class CounterWindow:
    """Differences over one window; None where the counter is not exposed."""

    generated_tokens: int | None = None
    drafts: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_position: tuple[int, ...] = ()
    preemptions: int | None = None
    engine_steps: int | None = None
    step_seconds: float | None = None
    prefix_cache_queries: int | None = None
    prefix_cache_hits: int | None = None
    first_tokens: int | None = None
    first_token_seconds: float | None = None
    queue_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None
    inference_seconds: float | None = None


def difference(before: str, after: str) -> CounterWindow:
    """Return the counters' differences. Raises CounterReset when one went down, or is there no longer.

    A counter that first appears inside the window started from 0 (labelled counters appear at first use).
    """
    first, last = read_scrape(before), read_scrape(after)
    counts = {name: _count(_delta(names, first.totals, last.totals)) for name, names in COUNTERS.items()}
    seconds = {name: _delta(names, first.totals, last.totals) for name, names in SECONDS.items()}
    positions = sorted({*first.accepted_per_position, *last.accepted_per_position})
    per_position = tuple(
        round(
            _change(
                f"{ACCEPTED_PER_POSITION} at position {position}",
                first.accepted_per_position.get(position, 0.0),
                last.accepted_per_position.get(position, 0.0),
            )
        )
        for position in positions
    )
    for name, value in first.series.items():  # one engine of several that restarted hides in a sum that grew
        _change(name, value, last.series.get(name, 0.0))
    changes: dict[str, Any] = counts | seconds
    return CounterWindow(accepted_per_position=per_position, **changes)


def _delta(names: tuple[str, ...], first: Mapping[str, float], last: Mapping[str, float]) -> float | None:
    """Return the change of the first of `names` that is there; None when this release exposes none of them."""
    name = next((name for name in names if name in last or name in first), None)
    return None if name is None else _change(name, first.get(name, 0.0), last.get(name, 0.0))


def _count(change: float | None) -> int | None:
    return None if change is None else round(change)


def _change(name: str, before: float, after: float) -> float:
    if after < before:
        message = f"{name} fell from {before:.0f} to {after:.0f} in the window"
        raise CounterReset(message)
    return after - before
