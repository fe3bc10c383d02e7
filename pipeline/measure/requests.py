"""One request record -> its figures."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

from pipeline.domain.request import Phase, RequestRecord, RequestRow

_NS_PER_MS = 1e6


def ttft_ms(record: RequestRecord) -> float | None:
    """First chunk with a token minus send, ms; None when no token came or the request failed."""
    if record.failed or record.first_chunk_ns is None:
        return None
    return (record.first_chunk_ns - record.sent_ns) / _NS_PER_MS


def e2e_latency_ms(record: RequestRecord) -> float | None:
    """Last chunk with a token minus send, ms; None when no token came or the request failed."""
    if record.failed or record.last_chunk_ns is None:
        return None
    return (record.last_chunk_ns - record.sent_ns) / _NS_PER_MS


def tpot_ms(record: RequestRecord) -> float | None:
    """(last chunk - first chunk) / (output tokens - tokens in the first chunk), ms a token.

    None when no token came after the first chunk. Equals vLLM's (e2e - ttft) / (n - 1) when the first chunk holds one.
    """
    if record.failed or not record.chunk_ns or record.output_tokens is None:
        return None
    later = record.output_tokens - record.chunk_tokens[0]
    if later <= 0:
        return None
    return (record.chunk_ns[-1] - record.chunk_ns[0]) / _NS_PER_MS / later


def inter_chunk_ms(record: RequestRecord) -> list[float]:
    """Times between chunks with tokens, ms. A chunk can hold several tokens: this is not inter-token latency."""
    if record.failed:
        return []
    return [(later - earlier) / _NS_PER_MS for earlier, later in pairwise(record.chunk_ns)]


def rows(records: Sequence[RequestRecord], *, origin_ns: int, phases: Sequence[Phase | None]) -> list[RequestRow]:
    """Return what the warehouse keeps of each request: figures, no text. `phases`: one a record."""
    return [
        RequestRow(
            request_index=record.index,
            prompt_id=record.prompt_id,
            seed=record.seed,
            sent_offset_ms=(record.sent_ns - origin_ns) / _NS_PER_MS,
            ttft_ms=ttft_ms(record),
            e2e_latency_ms=e2e_latency_ms(record),
            tpot_ms=tpot_ms(record),
            prompt_tokens=record.prompt_tokens,
            output_tokens=record.output_tokens,
            first_chunk_tokens=record.chunk_tokens[0] if record.chunk_tokens else None,
            chunks=len(record.chunk_tokens),
            finish_reason=record.finish_reason,
            error=record.error,
            error_detail=record.error_detail,
            text_hash=None if record.text is None else hashlib.sha256(record.text.encode()).hexdigest(),
            phase=phase,
        )
        for record, phase in zip(records, phases, strict=True)
    ]
