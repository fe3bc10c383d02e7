"""Ports that test processes do not fight for, be they workers of one session or two sessions at once."""

import os

from pipeline.serve.ports import first_free_port

FIRST = 29000
PER_PROCESS = 20
RANGES = 180  # up to 32599: what lies above 32768 is handed out by the kernel


def worker_port() -> int:
    """Return a free port of this process's own range."""
    return first_free_port(FIRST + PER_PROCESS * (os.getpid() % RANGES))
