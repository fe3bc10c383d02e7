"""From what happened to what is recorded."""

from pipeline.domain.request import RequestRecord
from pipeline.drive.answer import read_answer
from pipeline.drive.clock import Stamps
from pipeline.drive.exchange import Exchange
from pipeline.drive.load import Load


def record(exchange: Exchange, *, load: Load, stamps: Stamps) -> RequestRecord:
    """Return the record of one request. An error of the connection goes before one of the stream."""
    stream = read_answer(exchange, stamps=stamps)
    error, detail = stream.error, stream.error_detail
    if exchange.error is not None and error not in {"http_4xx", "http_5xx"}:
        error, detail = exchange.error, exchange.error_detail
    return RequestRecord(
        index=exchange.index,
        prompt_id=load.prompts[exchange.index].prompt_id,
        seed=load.seed + exchange.index,
        scheduled_ns=exchange.scheduled_ns,
        sent_ns=exchange.sent_ns,
        first_chunk_ns=stream.chunk_ns[0] if stream.chunk_ns else None,
        last_chunk_ns=stream.chunk_ns[-1] if stream.chunk_ns else None,
        end_ns=exchange.end_ns,
        prompt_tokens=stream.prompt_tokens,
        output_tokens=stream.output_tokens,
        chunk_ns=stream.chunk_ns,
        chunk_tokens=stream.chunk_tokens,
        chunk_chars=stream.chunk_chars,
        finish_reason=stream.finish_reason,
        text=stream.text if exchange.reads else None,
        error=error,
        error_detail=detail,
    )


def unsent(index: int, *, load: Load, at_ns: int) -> RequestRecord:
    """Return the record of a prompt whose turn never came: the window was over."""
    return RequestRecord(
        index=index,
        prompt_id=load.prompts[index].prompt_id,
        seed=load.seed + index,
        scheduled_ns=at_ns,
        sent_ns=at_ns,
        first_chunk_ns=None,
        last_chunk_ns=None,
        end_ns=at_ns,
        prompt_tokens=None,
        output_tokens=None,
        error="cancelled",
        error_detail="not sent: the deadline of the window had passed",
    )
