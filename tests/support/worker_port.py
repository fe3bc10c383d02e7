"""Ports that test processes do not fight for, be they workers of one session or of several sessions at once."""

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

from pipeline.serve.ports import first_free_port

FIRST = 29000
PER_PROCESS = 20
RANGES = 180  # up to 32599: what lies above 32768 is handed out by the kernel


def worker_port() -> int:
    """Return a free port of this process's own range."""
    return first_free_port(FIRST + PER_PROCESS * _own_range(os.getpid()))


@cache
def _own_range(pid: int) -> int:
    """Take a range for as long as this process lives: the lock ends with it, whatever ends it."""
    locks = Path(tempfile.gettempdir()) / "specwatch-test-ports"
    locks.mkdir(exist_ok=True)
    for number in range(RANGES):
        mine = (pid + number) % RANGES
        held = os.open(locks / str(mine), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
        else:
            return mine
    message = f"all {RANGES} ranges of test ports are taken (locks in {locks})"
    raise RuntimeError(message)
