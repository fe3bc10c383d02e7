"""One of several processes that send: `python -m pipeline.drive.shard QUEUE PARENT`, started by shards.py.

Reads its part of the load from stdin, says that it is ready, reads the start of the window, and writes its Part.
"""

import ctypes
import os
import pickle
import signal
import sys
from typing import IO

from pipeline.drive.conversations import chains
from pipeline.drive.load import Load
from pipeline.drive.schedule import Feed
from pipeline.drive.shards import NUMBER, READY, TIME
from pipeline.drive.target import resolve
from pipeline.drive.window import run_part

_PR_SET_PDEATHSIG = 1


def feed(load: Load, *, queue: int, place: int, processes: int) -> Feed:
    """Return where this process takes its conversations from.

    A closed loop shares the queue. Arrivals are planned, so in an open loop every process knows its own: each n-th.
    """
    if load.arrival != "closed":
        numbers = iter(range(place, len(chains(load.prompts)), processes))
        return lambda: next(numbers, None)

    def take() -> int | None:
        entry = os.read(queue, NUMBER.size)  # the offset is moved under the kernel's lock: each entry goes to one
        return NUMBER.unpack(entry)[0] if len(entry) == NUMBER.size else None

    return take


def users(load: Load, *, place: int, processes: int) -> int:
    """Return how many users of a closed loop belong to this process: they differ by at most one."""
    return ((load.concurrency or 0) + processes - 1 - place) // processes


def main(queue: int, *, instructions: IO[bytes], results: IO[bytes]) -> None:
    """Send this process's part."""
    url, load, served_model, place, processes = pickle.load(instructions)  # noqa: S301 - written by our own parent

    def origin() -> int:
        results.write(READY)
        results.flush()
        return int(TIME.unpack(instructions.read(TIME.size))[0])

    part = run_part(
        load,
        target=resolve(url),
        served_model=served_model,
        feed=feed(load, queue=queue, place=place, processes=processes),
        users=users(load, place=place, processes=processes),
        origin=origin,
    )
    results.write(pickle.dumps(part))
    results.flush()


def die_with(parent: int) -> None:
    """Have the kernel end this process when the one that started it is gone: nobody would read the results."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    die_with(int(sys.argv[2]))
    main(int(sys.argv[1]), instructions=sys.stdin.buffer, results=sys.stdout.buffer)
