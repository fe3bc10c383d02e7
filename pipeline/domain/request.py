"""One request as the load client saw it. Times are integers of ns on one monotonic clock per process."""

from dataclasses import dataclass
from typing import Literal

Phase = Literal["ramp_up", "steady", "tail"]  # of a window: before the load is whole, while it is, after
Clock = Literal["kernel", "user"]  # who stamped the chunks: the network stack on arrival, or the client on reading


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What was sent, when each chunk arrived, and what the server's `usage` counted.

    A chunk can hold several tokens under speculation, so `chunk_tokens` is cumulative and comes from
    `continuous_usage_stats`, never from counting chunks. The role-only first chat chunk is not in the lists.
    """

    index: int  # order of sending inside the repetition
    prompt_id: str
    seed: int
    scheduled_ns: int
    sent_ns: int
    first_chunk_ns: int | None  # first chunk with a token; None when none came
    last_chunk_ns: int | None  # last chunk with a token
    end_ns: int  # stream closed, or failed
    prompt_tokens: int | None
    output_tokens: int | None  # from the final usage
    chunk_ns: tuple[int, ...] = ()
    chunk_tokens: tuple[int, ...] = ()  # cumulative completion tokens at each chunk
    finish_reason: str | None = None
    text: str | None = None
    error: str | None = None  # class: timeout, refused, http_4xx, http_5xx, broken_stream, token_mismatch, cancelled
    error_detail: str | None = None
    chunk_chars: tuple[int, ...] = ()  # cumulative characters of `text` at each chunk; () when not recorded

    @property
    def failed(self) -> bool:
        """Whether this request is left out of every latency figure."""
        return self.error is not None


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request as the warehouse keeps it: derived from a RequestRecord, without text. None: undefined."""

    request_index: int  # order of sending inside the repetition, from 0
    prompt_id: str
    seed: int
    ttft_ms: float | None
    e2e_latency_ms: float | None  # send to last chunk with a token
    tpot_ms: float | None  # None when no token came after the first chunk
    prompt_tokens: int | None
    output_tokens: int | None
    first_chunk_tokens: int | None
    chunks: int  # chunks with tokens
    finish_reason: str | None
    error: str | None
    error_detail: str | None
    text_hash: str | None
    sent_offset_ms: float  # from the start of the window
    phase: Phase | None = None  # None: the window never held the cell's load


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """How the load client did its work in one window."""

    cpu_s: float  # CPU time of all its processes in the window
    processes: int = 1  # the prompts were sharded over
    clock: Clock = "user"
    busiest_core_share: float | None = None  # CPU time / wall time of its busiest process, 0-1; None: not recorded
