"""A server whose answers a test writes down, byte by byte: a thread a connection, on 127.0.0.1."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.drive.answer import read_answer
from pipeline.drive.clock import Stamps
from pipeline.drive.exchange import Exchange
from pipeline.drive.stream import Stream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Pause:
    """The server is slow here."""

    seconds: float


@dataclass(frozen=True)
class Hang:
    """Says no more until the client goes."""


@dataclass(frozen=True)
class Reset:
    """Cuts the connection without a goodbye."""


def read_body(reads: Sequence[tuple[int, bytes]], *, status: int = 200) -> Stream:
    """What is read of an answer whose body arrived in these pieces: (ns, bytes)."""
    head = f"HTTP/1.1 {status} Said\r\nConnection: close\r\n\r\n".encode()
    return read_reads([(0, head), *reads])


def read_reads(reads: Sequence[tuple[int, bytes]]) -> Stream:
    """What is read of an answer that arrived in these reads: (ns, bytes)."""
    exchange = Exchange(0, 0, reads=[(at_ns, [], content) for at_ns, content in reads])
    return read_answer(exchange, stamps=Stamps(0, 0))


Step = bytes | Pause | Hang | Reset


def chunk(content: str = "", *, tokens: int, finish: str | None = None, key: str = "content") -> bytes:
    """One event of a chat stream."""
    delta = {key: content} if content else {"role": "assistant", "content": ""}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    usage = {"prompt_tokens": 5, "completion_tokens": tokens}
    return b"data: " + json.dumps({"choices": [choice], "usage": usage}).encode() + b"\n\n"


def framed(content: bytes) -> bytes:
    """One chunk of the transfer-encoding; the last one for b""."""
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def answer(*texts: str) -> list[Step]:
    """A whole stream: a token a text."""
    last = len(texts)
    events = [chunk(tokens=0)]
    events += [chunk(text, tokens=i, finish="stop" if i == last else None) for i, text in enumerate(texts, start=1)]
    return [HEAD, *(framed(event) for event in events), framed(DONE), framed(b"")]


class Server:
    """Answers request `number` (from 0, in the order of arrival) with the steps that `script` returns for it."""

    def __init__(self, script: Callable[[int, dict[str, Any]], list[Step]]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[bytes] = []
        self.sent_ns: list[list[int]] = []  # of each request: when each of its pieces was handed to the kernel
        self.open = self.most_open = 0
        self._script = script
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as asyncio and uvloop do
            head, body = _request(connection)
            with self._lock:
                number = len(self.bodies)
                self.bodies.append(json.loads(body))
                self.requests.append(head)
                self.sent_ns.append([])
                self.open += 1
                self.most_open = max(self.open, self.most_open)
                steps = self._script(number, self.bodies[number])
            try:
                for step in steps:
                    self._play(connection, step, sent_ns=self.sent_ns[number])
            finally:
                with self._lock:
                    self.open -= 1

    def _play(self, connection: socket.socket, step: Step, *, sent_ns: list[int]) -> None:
        match step:
            case Pause():
                time.sleep(step.seconds)
            case Hang():
                while connection.recv(4096):
                    pass
            case Reset():
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                raise ConnectionResetError
            case _:
                sent_ns.append(time.perf_counter_ns())
                connection.sendall(step)

    def close(self) -> None:
        """Stop, and see that the client has closed every connection: no thread waits for it any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in [self._accepting, *self._threads]:
            thread.join(timeout=10)
            assert not thread.is_alive(), "a connection is still open"


def _request(connection: socket.socket) -> tuple[bytes, bytes]:
    content = b""
    while b"\r\n\r\n" not in content:
        content += _more(connection)
    head, _, body = content.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    pieces, left = [body], length - len(body)
    while left > 0:
        pieces.append(_more(connection))
        left -= len(pieces[-1])
    return head, b"".join(pieces)


def _more(connection: socket.socket) -> bytes:
    content = connection.recv(65536)
    if not content:
        raise ConnectionResetError
    return content


@contextlib.contextmanager
def serving(script: Callable[[int, dict[str, Any]], list[Step]]) -> Iterator[Server]:
    """Serve until the block ends; then every connection must be closed."""
    server = Server(script)
    server._accepting.start()
    try:
        yield server
    finally:
        server.close()
