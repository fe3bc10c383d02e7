"""Two clocks: the kernel stamps what arrives in CLOCK_REALTIME, everything else is in CLOCK_MONOTONIC.

Both run at one rate (NTP slews them alike), so the difference between them is a constant until somebody sets the time.
It is sampled before and after the window; where it changed, the kernel's stamps are not used.
"""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SO_TIMESTAMPNS = 35  # asm-generic/socket.h; Python names it from 3.14 on. Also the type of the ancillary message
ANCILLARY_BYTES = socket.CMSG_SPACE(16)
STEP_NS = 200_000  # samples of the offset differ by microseconds
_TIMESPEC = struct.Struct("@qq")
_SAMPLES = 16

Ancillary = list[tuple[int, int, bytes]]


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

    def arrival_ns(self, ancillary: Ancillary, *, woke_ns: int) -> int:
        """Return when the bytes of one read arrived; the time we woke up where there is no stamp to trust.

        A stamp that lies after the wake-up belongs to bytes that came between the two: it is right all the same.
        """
        if not ancillary or self.stepped or len(ancillary[0][2]) != _TIMESPEC.size:
            return woke_ns
        seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
        return int(seconds * 1_000_000_000 + nanoseconds - self.start_offset_ns)


@contextmanager
def stamping() -> Iterator[None]:
    """Hold one socket that asks for stamps: the kernel switches them on with a delay, and off with the last asker."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        ask_for_stamps(asking)
        yield


def ask_for_stamps(sock: socket.socket) -> None:
    """Have the kernel stamp what arrives at `sock`; without support, reads carry no stamp."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:  # a kernel or sandbox without stamps: the reads say so by having none
        return
