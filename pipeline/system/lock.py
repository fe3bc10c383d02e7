"""One `up` or `down` at a time for each home."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, *, report: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file `path`; waits for whoever holds it, and says so."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another specwatch up or down to finish")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
