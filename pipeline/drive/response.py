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


class ResponseReader:
    """Takes the reads of one connection: chunked transfer-encoding, a length, or a body that ends with the connection.

    A read that is one whole chunk may be kept from it, where it stands between two chunks.
    """

    def __init__(self) -> None:
        self.response = Response()
        self._events = _Events()
        self._parser = httptools.HttpResponseParser(self._events)

    def take(self, at_ns: int, content: bytes) -> bytes:
        """Return the piece of the body that this read brought, if any; nothing after what is not HTTP."""
        response, pieces = self.response, self._events.pieces
        if response.problem is None:
            try:
                self._parser.feed_data(content)
            except httptools.HttpParserError as error:
                pieces.clear()
                response.problem = f"not HTTP: {error}"
        if self._events.headed:
            response.status = self._parser.get_status_code()
        response.complete = self._events.complete
        if not pieces:
            return b""
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        response.body.append((at_ns, piece))
        return piece


def read_response(reads: Iterable[tuple[int, bytes]]) -> Response:
    """Parse the reads of one connection. The pieces of the body that one read completed share its time."""
    reader = ResponseReader()
    for at_ns, content in reads:
        reader.take(at_ns, content)
    return reader.response
