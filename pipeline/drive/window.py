"""One process's part of a window: run the loop, then parse."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.domain.request import Clock, RequestRecord
from pipeline.drive.answer import read_answer
from pipeline.drive.clock import Stamps, offset_ns, stamping
from pipeline.drive.conversations import chains
from pipeline.drive.exchange import Exchange
from pipeline.drive.load import Load
from pipeline.drive.loop import NEVER_NS, Loop
from pipeline.drive.record import record
from pipeline.drive.requests import Composer, Messages
from pipeline.drive.schedule import Agenda, Feed, arrivals
from pipeline.drive.target import Target


@dataclass(frozen=True, slots=True)
class Part:
    """What one process brings back. CPU time is that of the loop's thread: parsing comes after the window."""

    records: tuple[RequestRecord, ...]
    started_ns: int
    ended_ns: int
    cpu_s: float
    clock: Clock


class Transcripts:
    """The requests of one window: those that open a conversation are ready before it, later turns need an answer."""

    def __init__(self, load: Load, composer: Composer) -> None:
        self._composer = composer
        self._load = load
        self._before = {turn: chain[i] for chain in chains(load.prompts) for i, turn in enumerate(chain[1:])}
        self._histories: dict[int, Messages] = {}  # prompt -> the messages and the answer up to its end
        self._ready = {
            index: composer.request(index) for index in range(len(load.prompts)) if index not in self._before
        }

    def compose(self, index: int) -> bytes:
        """Return the request of one prompt."""
        if index in self._before:
            return self._composer.request(index, history=self._histories[self._before[index]])
        return self._ready.pop(index)

    def failed(self, exchange: Exchange) -> bool:
        """Read the answer for the turn after it; say whether there is none."""
        if exchange.error is not None:
            return True
        stream = read_answer(exchange, stamps=Stamps(0, 0))
        if stream.error is not None:
            return True
        before = self._before.get(exchange.index)
        history = () if before is None else self._histories[before]
        asked = self._load.prompts[exchange.index].messages
        self._histories[exchange.index] = (*history, *asked, ("assistant", stream.answer))
        return False


def run_part(
    load: Load, *, target: Target, served_model: str, feed: Feed, users: int, origin: Callable[[], int]
) -> Part:
    """Send this process's part of `load`: conversations from `feed`, with `users` users in a closed loop.

    `origin` is asked when everything is ready; it returns the start of the window on the monotonic clock.
    """
    transcripts = Transcripts(load, Composer(load, target=target, served_model=served_model))
    conversations = chains(load.prompts)
    planned = arrivals(load)
    with stamping(), collector_off():
        start_offset = offset_ns()
        origin_ns = origin()
        loop = Loop(
            Agenda(conversations, feed=feed, users=users, planned=planned, origin_ns=origin_ns),
            target=target,
            compose=transcripts.compose,
            failed=transcripts.failed,
            request_timeout_ns=round(load.request_timeout_s * 1e9),
            deadline_ns=NEVER_NS - 1 if load.deadline_s is None else origin_ns + round(load.deadline_s * 1e9),
        )
        began_ns, cpu_before = time.perf_counter_ns(), time.thread_time()
        exchanges = loop.run()
        cpu_s, ended_ns = time.thread_time() - cpu_before, time.perf_counter_ns()
        stamps = Stamps(start_offset, offset_ns())
        clock: Clock = "kernel" if _stamped(exchanges, stamps=stamps) else "user"
        records = []
        while exchanges:  # what was read is let go as it is parsed
            records.append(record(exchanges.pop(), load=load, stamps=stamps))
    return Part(records=tuple(records), started_ns=began_ns, ended_ns=ended_ns, cpu_s=cpu_s, clock=clock)


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector off: it would walk all that was read, again and again, between two reads."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _stamped(exchanges: list[Exchange], *, stamps: Stamps) -> bool:
    """Whether the kernel stamped every read of the window, and the wall clock stood still."""
    return not stamps.stepped and all(ancillary for exchange in exchanges for _, ancillary, _ in exchange.reads)
