"""Two clocks: the kernel stamps what arrives in CLOCK_REALTIME, everything else is in CLOCK_MONOTONIC.

Both run at one rate (NTP slews them alike), so the difference between them is a constant until somebody sets the time.
It is sampled before and after the window; where it changed, the kernel's stamps are not used.
"""

import socket
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

SO_TIMESTAMPNS = 35  # asm-generic/socket.h; Python names it from 3.14 on. Also the type of the ancillary message
ANCILLARY_BYTES = socket.CMSG_SPACE(16)
STEP_NS = 200_000  # samples of the offset differ by microseconds
_TIMESPEC_BYTES = 16  # two long integers
_SAMPLES = 16
_PROBE_S = 0.5

Ancillary = list[tuple[int, int, bytes]]
Read = tuple[int, Ancillary, bytes]  # when we woke up (ns, monotonic), the kernel's stamp, the bytes


def offset_ns() -> int:
    """Return CLOCK_REALTIME - CLOCK_MONOTONIC, ns: of several samples the one that was least interrupted."""
    best, narrowest = 0, None
    for _ in range(_SAMPLES):
        before = time.perf_counter_ns()
        real = time.time_ns()
        width = time.perf_counter_ns() - before
        if narrowest is None or width < narrowest:
            best, narrowest = real - (before + width // 2), width
    return best


@dataclass(frozen=True, slots=True)
class Stamps:
    """How the stamps of one window become times on the monotonic clock."""

    start_offset_ns: int
    end_offset_ns: int

    @property
    def stepped(self) -> bool:
        """Whether the wall clock was set inside the window: then the kernel's stamps mean nothing."""
        return abs(self.end_offset_ns - self.start_offset_ns) > STEP_NS

    def times(self, reads: Sequence[Read]) -> list[tuple[int, bytes]]:
        """Return the reads with the time at which their bytes arrived; that of waking up where there is no stamp."""
        if not self.stepped:
            stamped = b"".join([ancillary[0][2] for _, ancillary, _ in reads if ancillary])
            if len(stamped) == len(reads) * _TIMESPEC_BYTES:  # so every one is stamped
                return list(zip(self._monotonic(stamped), [content for _, _, content in reads], strict=True))
        return [(self._time(woke_ns, ancillary), content) for woke_ns, ancillary, content in reads]

    def _time(self, woke_ns: int, ancillary: Ancillary) -> int:
        if self.stepped or not ancillary or len(ancillary[0][2]) != _TIMESPEC_BYTES:
            return woke_ns
        return self._monotonic(ancillary[0][2])[0]

    def _monotonic(self, stamped: bytes) -> list[int]:
        """Return the times of stamps: struct timespec, one after the other."""
        numbers, offset_ns = array("q", stamped), self.start_offset_ns
        return [s * 1_000_000_000 + ns - offset_ns for s, ns in zip(numbers[::2], numbers[1::2], strict=True)]


@contextmanager
def stamping() -> Iterator[None]:
    """Have the kernel stamp from the first read on: it begins a while after somebody asks, and ends with the last.

    Bytes are sent over loopback until one carries a stamp; where none ever does, the reads will say so.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as asking:
        ask_for_stamps(asking)
        asking.connect(listener.getsockname())
        asking.settimeout(_PROBE_S)
        probe, _ = listener.accept()
        with probe:
            until = time.monotonic() + _PROBE_S
            while time.monotonic() < until:
                probe.send(b"x")
                if asking.recvmsg(1, ANCILLARY_BYTES)[1]:
                    break
        yield


def ask_for_stamps(sock: socket.socket) -> None:
    """Have the kernel stamp what arrives at `sock`; without support, reads carry no stamp."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:  # a kernel or sandbox without stamps: the reads say so by having none
        return
