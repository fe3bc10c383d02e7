"""One connection for one request: connect, send, read until the answer ends. Never blocks."""

import errno
import os
import select
import socket
import time
from collections.abc import Iterator

from pipeline.drive.clock import ANCILLARY_BYTES, Ancillary, ask_for_stamps
from pipeline.drive.exchange import Exchange
from pipeline.drive.response import read_response
from pipeline.drive.target import Target

READ_BYTES = 65536
_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


class Connection:
    """A plain TCP connection. The loop calls `advance` when the socket is ready for what it `wants`."""

    def __init__(self, exchange: Exchange, *, target: Target, request: bytes) -> None:
        """Raises OSError when there is no address, or no descriptor left."""
        if target.problem is not None:
            raise OSError(target.problem)
        self.exchange = exchange
        self.wants = select.EPOLLOUT
        self.streaming = False  # the head is read, and only the end of the connection ends the answer
        self.ended = False
        self._unsent = memoryview(request)
        self._connected = False
        self._until_closed: bool | None = None  # None: no head yet
        self._chunked = False
        self._target = target
        self.socket = socket.socket(target.family, socket.SOCK_STREAM)
        self.socket.settimeout(0)

    def open(self) -> None:
        """Begin to connect, and send at once where the connection is there already (it is, on loopback)."""
        self.exchange.sent_ns = time.perf_counter_ns()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask_for_stamps(self.socket)
        code = self.socket.connect_ex(self._target.address)
        if code in {0, errno.EINPROGRESS}:
            self.advance(self.exchange.sent_ns)
        else:
            self._refused(os.strerror(code))

    def advance(self, woke_ns: int) -> None:
        """Do what can be done without waiting."""
        try:
            if not self._unsent:
                self._take(woke_ns)
                return
            self._send()
            if not self._unsent:
                self.wants = select.EPOLLIN
        except BlockingIOError:
            return

    def fail(self, error: str, detail: str) -> None:
        """End it with an error class."""
        self.exchange.fail(error, detail)
        self.ended = True

    def lost(self, error: OSError) -> None:
        """End it because the connection broke while the answer was awaited or read."""
        self.fail("broken_stream", f"the connection broke: {error}")

    def close(self) -> None:
        """Close the socket; what the server still sends meets a reset, so it stops."""
        self.socket.close()

    def _send(self) -> None:
        try:
            self._handshake()
            if not self._connected:
                self.exchange.sent_ns = time.perf_counter_ns()
            self._unsent = self._unsent[self._write(self._unsent) :]
            if not self._connected:
                self._connected = True
                self._save_acks()
        except BlockingIOError:
            raise
        except OSError as error:
            self._unsent = self._unsent[:0]
            if not self._connected:
                self._refused(str(error))  # else: a server may answer and close before it has read all

    def _take(self, woke_ns: int) -> None:
        try:
            for ancillary, content in self._receive():
                if not content:
                    self.ended = True
                    return
                self.exchange.reads.append((woke_ns, ancillary, content))
                self._look(content)
        except BlockingIOError:
            raise
        except OSError as error:
            self.lost(error)

    def _look(self, content: bytes) -> None:
        """Find out how the answer ends: most servers close, as they were asked to; a few keep the connection."""
        if self._until_closed is None:
            head, end, _ = b"".join(read[2] for read in self.exchange.reads).lower().partition(_HEAD_END)
            if not end:
                return
            self._until_closed = b"\r\nconnection: close" in head
            self._chunked = b"\r\ntransfer-encoding: chunked" in head
            self.streaming = self._until_closed and self._target.tls is None
        if self._until_closed:
            return
        if not self._chunked or content.endswith(_HEAD_END) or len(content) < len(_LAST_CHUNK):
            self.ended = read_response((0, read[2]) for read in self.exchange.reads).complete

    def _save_acks(self) -> None:
        """Let the kernel acknowledge every other chunk instead of every read, on loopback.

        There the acknowledgement is delivered to the server on our core: half the cost of a read. Servers of tokens
        send without waiting for it (TCP_NODELAY: asyncio, uvloop); over a network it costs little and stays as usual.
        """
        if self._target.loopback:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)

    def _refused(self, why: str) -> None:
        self.fail("refused", f"{self._target.name}: {why}")

    def _handshake(self) -> None:
        """Nothing to agree on before the request."""

    def _write(self, content: memoryview) -> int:
        return self.socket.send(content)

    def _receive(self) -> Iterator[tuple[Ancillary, bytes]]:
        """Yield one read: where more is there, the loop is told again."""
        content, ancillary, _, _ = self.socket.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        yield ancillary, content
