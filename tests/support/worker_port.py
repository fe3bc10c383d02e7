"""Ports that parallel test workers do not fight for."""

import os

from pipeline.serve.ports import first_free_port

FIRST = 29000
PER_WORKER = 20


def worker_port() -> int:
    """Return a free port of this worker's own range."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return first_free_port(FIRST + PER_WORKER * worker)
