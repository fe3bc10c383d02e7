"""The loop of one process: one epoll, every connection of this process, and nothing else on the way of the bytes.

Reading comes first. Ending a request, starting the next one and putting a conversation together wait until a batch of
reads is stored, and then take turns with reading, a few at a time.
"""

import select
import time
from collections import deque
from collections.abc import Callable, Sequence

from pipeline.drive.clock import ANCILLARY_BYTES, Ancillary, Read
from pipeline.drive.connection import READ_BYTES, Connection
from pipeline.drive.exchange import Exchange
from pipeline.drive.schedule import Agenda
from pipeline.drive.target import Target
from pipeline.drive.tls import TlsConnection

PIECES = 4  # of work between two batches of reads
NEVER_NS = 1 << 62
CROWD = 32  # streams: from here on chunks are gathered for REST_NS before they are read, because waking up costs more
REST_NS = 500_000  # than reading. The kernel has stamped them; only a stream that is faster than this would blur
_FINE_NS = 2_000_000  # epoll waits in whole milliseconds: what is due sooner is waited for with select
_EVENTS = 1024
# A stream is announced once for each arrival, instead of until a poll finds it empty; and when its server has closed it
_STREAMING = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET

Receive = Callable[[int, int], tuple[bytes, Ancillary, int, object]]
Keep = Callable[[Read], None]


class Loop:
    """Sends what the agenda holds.

    `compose` returns the bytes of a request. `failed` is asked about a turn that another one follows: it reads the
    answer and says whether there is none. `deadline_ns`, on the monotonic clock: then all that runs is cancelled.
    """

    def __init__(
        self,
        agenda: Agenda,
        *,
        target: Target,
        compose: Callable[[int], bytes],
        failed: Callable[[Exchange], bool],
        request_timeout_ns: int,
        deadline_ns: int = NEVER_NS,
    ) -> None:
        self.done: list[Exchange] = []
        self._agenda = agenda
        self._target = target
        self._compose = compose
        self._failed = failed
        self._request_timeout_ns = request_timeout_ns
        self._deadline_ns = deadline_ns
        self._epoll = select.epoll()
        self._open: dict[int, Connection] = {}  # by descriptor
        self._streams: dict[int, tuple[Receive, Keep]] = {}  # those of them that only read until the end
        self._timeouts: deque[tuple[int, Connection]] = deque()  # in the order of sending, so of falling due
        self._ended: deque[Connection] = deque()

    def run(self) -> list[Exchange]:
        """Run until nothing is left to send or to read; close every connection. Return the requests as they ended."""
        woke_ns = alarm_ns = 0
        try:
            while True:
                if self._ended or woke_ns >= alarm_ns:
                    alarm_ns = self._work(time.perf_counter_ns())
                    if alarm_ns == NEVER_NS:
                        return self.done
                events = self._wait(alarm_ns - time.perf_counter_ns())
                woke_ns = time.perf_counter_ns()
                self._read(events, woke_ns)
        finally:
            for connection in [*self._open.values(), *self._ended]:
                connection.close()
            self._epoll.close()

    def _wait(self, for_ns: int) -> Sequence[tuple[int, int]]:
        """Return what is ready, at the latest after `for_ns`; an alarm is met to some microseconds."""
        if len(self._streams) >= CROWD and for_ns > 0:
            time.sleep(min(for_ns, REST_NS) / 1e9)
            for_ns -= REST_NS
        if for_ns >= _FINE_NS:
            return self._epoll.poll((for_ns - _FINE_NS // 2) / 1e9, _EVENTS)
        if for_ns > 0:
            select.select([self._epoll], [], [], for_ns / 1e9)
        return self._epoll.poll(0, _EVENTS)

    def _read(self, events: Sequence[tuple[int, int]], woke_ns: int) -> None:
        """Store what has arrived. Every chunk of every stream passes here: nothing may be added lightly."""
        streams = self._streams
        for descriptor, happened in events:
            stream = streams.get(descriptor)
            if stream is None:
                self._advance(descriptor, woke_ns)
                continue
            receive, keep = stream
            try:
                content, ancillary, _, _ = receive(READ_BYTES, ANCILLARY_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                self._open[descriptor].lost(error)
                content = b""
            if content:
                keep((woke_ns, ancillary, content))
                if happened != select.EPOLLIN or len(content) == READ_BYTES:
                    self._epoll.modify(descriptor, _STREAMING)  # there may be more, or the end: ask again
            else:
                self._end(descriptor, woke_ns)

    def _advance(self, descriptor: int, woke_ns: int) -> None:
        connection = self._open[descriptor]
        wanted = connection.wants
        connection.advance(woke_ns)
        if connection.ended:
            self._end(descriptor, woke_ns)
        elif connection.wants != wanted:
            self._epoll.modify(descriptor, connection.wants)
        elif connection.streaming:
            self._streams[descriptor] = (connection.socket.recvmsg, connection.exchange.reads.append)
            self._epoll.modify(descriptor, _STREAMING)

    def _end(self, descriptor: int, at_ns: int) -> None:
        self._epoll.unregister(descriptor)
        self._streams.pop(descriptor, None)
        connection = self._open.pop(descriptor)
        connection.ended = True
        connection.exchange.end_ns = at_ns
        self._ended.append(connection)

    def _work(self, now_ns: int) -> int:
        """Do a few pieces of what waits; return when there is more to do: 0 at once, NEVER_NS when all is done."""
        self._expire(now_ns)
        for _ in range(PIECES):
            due_ns = self._agenda.due_ns()
            if self._ended:
                connection = self._ended.popleft()
                connection.close()
                self._note(connection.exchange)
            elif due_ns is not None and due_ns <= now_ns:
                self._start()
            else:
                break
        else:
            return 0
        if not self._open and due_ns is None:
            return NEVER_NS
        first_ns = self._timeouts[0][0] if self._timeouts else NEVER_NS - 1
        return min(due_ns or first_ns, first_ns, self._deadline_ns)

    def _expire(self, now_ns: int) -> None:
        if now_ns >= self._deadline_ns:
            self._deadline_ns = NEVER_NS - 1
            self._agenda.stop()
            for connection in list(self._open.values()):
                self._give_up(connection, "cancelled", "it was still running at the deadline of the window", now_ns)
        while self._timeouts and (self._timeouts[0][1].ended or self._timeouts[0][0] <= now_ns):
            _, connection = self._timeouts.popleft()
            if not connection.ended:
                seconds = self._request_timeout_ns / 1e9
                self._give_up(connection, "timeout", f"no end of the answer within {seconds:g} s", now_ns)

    def _give_up(self, connection: Connection, error: str, detail: str, now_ns: int) -> None:
        connection.fail(error, detail)
        self._end(connection.socket.fileno(), now_ns)

    def _start(self) -> None:
        index, scheduled_ns = self._agenda.take()
        exchange = Exchange(index, scheduled_ns)
        request = self._compose(index)
        try:
            connection = self._connection(exchange, request)
        except OSError as error:  # no address, or no descriptor left
            exchange.sent_ns = exchange.end_ns = time.perf_counter_ns()
            exchange.fail("refused", f"{self._target.name}: {error}")
            self._note(exchange)
            return
        connection.open()
        descriptor = connection.socket.fileno()
        self._open[descriptor] = connection
        self._epoll.register(descriptor, connection.wants)
        self._timeouts.append((exchange.sent_ns + self._request_timeout_ns, connection))
        if connection.ended:
            self._end(descriptor, time.perf_counter_ns())

    def _connection(self, exchange: Exchange, request: bytes) -> Connection:
        if self._target.tls is not None:
            return TlsConnection(exchange, target=self._target, request=request, context=self._target.tls)
        return Connection(exchange, target=self._target, request=request)

    def _note(self, exchange: Exchange) -> None:
        """Keep what ended, and let its user go on."""
        self.done.append(exchange)
        failed = self._agenda.has_next(exchange.index) and self._failed(exchange)
        skipped = self._agenda.ended(exchange.index, at_ns=exchange.end_ns, failed=failed)
        for index, before in skipped:
            unsent = Exchange(index, exchange.end_ns, exchange.end_ns, exchange.end_ns)
            unsent.fail("cancelled", f"not sent: the turn before it, prompt {before}, has no answer")
            self.done.append(unsent)
