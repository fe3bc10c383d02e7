"""What one request brought, taken apart after the window: HTTP, then events."""

from pipeline.drive.clock import Stamps
from pipeline.drive.exchange import Exchange
from pipeline.drive.known_event import is_chunk
from pipeline.drive.response import ResponseReader
from pipeline.drive.stream import Stream, StreamReader, broken, refused


def read_answer(exchange: Exchange, *, stamps: Stamps) -> Stream:
    """Parse the reads of one request. What it broke on already is kept as its error.

    A read that is exactly one chunk of the transfer-encoding with one event like an earlier one, which is nearly every
    read of a server of tokens, needs neither parser: it goes past both, and leaves both where they stood.
    """
    http, events = ResponseReader(), StreamReader()
    reads = iter(stamps.times(exchange.reads))
    between_chunks = False
    while (read := events.skip_chunks(reads) if between_chunks else next(reads, None)) is not None:
        at_ns, content = read
        piece = http.take(at_ns, content)
        if piece:
            events.take(at_ns, piece)
        between_chunks = is_chunk(content, piece)
    response = http.response
    if response.status == 200:
        return events.result()
    if response.status:
        return refused(response.status, b"".join(body for _, body in response.body))
    return broken("broken_stream", response.problem or "the connection was closed without an answer")
