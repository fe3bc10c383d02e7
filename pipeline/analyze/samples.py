"""What the analysis reads: one row a request, one row a window. Plain values from the warehouse."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartKey:
    """One server start of one block."""

    block_id: str
    start_index: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One request of one repetition; None where undefined."""

    cell_id: str
    start: StartKey
    prompt_id: str
    e2e_latency_ms: float | None
    tpot_ms: float | None
    output_tokens: int | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Window:
    """One repetition: when it ran and what it added up to."""

    cell_id: str
    start: StartKey
    at_s: float  # Unix time of its start
    requests: int
    concurrency: int | None  # most requests in flight; None in an open loop
    ttft_sum_share: float | None = None  # prefill_share
    server_output_tokens: int | None = None
    engine_steps: int | None = None
    step_time_ms: float | None = None
    drafts: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    identical_share: float | None = None  # of greedy outputs, with the opening baseline's first repetition
    faults: tuple[str, ...] = ()  # what marks it


@dataclass(frozen=True, slots=True)
class StartFacts:
    """What explains a difference between arms, from the start-up log; None where it does not say."""

    model_runner: str | None = None
    async_scheduling: bool | None = None
    attention_backend: str | None = None
    kv_cache_tokens: int | None = None
