"""The HTTP of one answer, taken apart after the window by httptools (llhttp, the parser of Node.js)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import httptools


@dataclass(slots=True)
class Response:
    """Status, body as it arrived (ns, bytes), and whether HTTP says that it is whole. Status 0: no head came."""

    status: int = 0
    body: list[tuple[int, bytes]] = field(default_factory=list)
    complete: bool = False
    problem: str | None = None


class _Events:
    """What httptools calls: it finds the methods by name."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.on_body = self.pieces.append
        self.headed = False
        self.complete = False

    def on_headers_complete(self) -> None:
        self.headed = True

    def on_message_complete(self) -> None:
        self.complete = True


def read_response(reads: Iterable[tuple[int, bytes]]) -> Response:
    """Parse the reads of one connection: chunked transfer-encoding, a length, or a body that ends with the connection.

    The pieces of the body that one read completed share its time.
    """
    events = _Events()
    parser = httptools.HttpResponseParser(events)
    response = Response()
    pieces, body = events.pieces, response.body
    try:
        for at_ns, content in reads:
            parser.feed_data(content)
            if pieces:
                body.append((at_ns, pieces[0] if len(pieces) == 1 else b"".join(pieces)))
                pieces.clear()
    except httptools.HttpParserError as error:
        response.problem = f"not HTTP: {error}"
    if events.headed:
        response.status = parser.get_status_code()
    response.complete = events.complete
    return response
