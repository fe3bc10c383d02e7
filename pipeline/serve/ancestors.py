"""Who stands above us. A task that outlives its supervisor, or the supervisor's parent, must not go on measuring.

Seen under Airflow's edge worker: after kill -9 of the worker the orphaned supervisor keeps heartbeating, so nobody
else would notice. The task itself has to.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_S = 0.2


def parent_of(pid: int) -> int | None:
    """Return the parent of `pid`, or None when it cannot be seen."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None


def ancestors() -> tuple[int, int | None]:
    """Return our parent and its parent."""
    parent = os.getppid()
    return parent, parent_of(parent)


@contextmanager
def watched(changed: Callable[[str], None], *, enabled: bool) -> Iterator[None]:
    """While inside, call `changed` once, from a thread of its own, when the parent or the grandparent is another."""
    if not enabled:
        yield
        return
    first, ended = ancestors(), threading.Event()
    thread = threading.Thread(target=_watch, args=(first, ended, changed), name="ancestor-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(first: tuple[int, int | None], ended: threading.Event, changed: Callable[[str], None]) -> None:
    while not ended.wait(_POLL_S):
        now = ancestors()
        if now != first:
            changed(f"a process above this task is gone (parent, grandparent: {first} -> {now})")
            return
