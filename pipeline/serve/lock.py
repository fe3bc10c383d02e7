"""One lock an accelerator: held by the task and by the keeper, so it is free only when both are gone."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import EnvironmentFault

_POLL_S = 0.1
_REPORT_EVERY_S = 15.0
_ORPHAN_AFTER_S = 2.0  # a keeper whose task is gone ends within milliseconds; one that did not is stuck


@dataclass(frozen=True, slots=True)
class Holder:
    """Who wrote the lock file last: a process, and the marker of its server."""

    pid: int
    started: int  # clock ticks since boot: tells a process from a later one with the same number
    marker: str

    @property
    def lives(self) -> bool:
        """Whether that very process still runs."""
        return start_ticks(self.pid) == self.started


def start_ticks(pid: int) -> int | None:
    """Return when `pid` started, in clock ticks since boot; None when it does not exist or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@contextmanager
def held(
    path: Path,
    *,
    marker: str,
    timeout_s: float,
    report: Callable[[str], None],
    stop_orphans: Callable[[str], object],
) -> Iterator[tuple[int, str | None]]:
    """Hold the lock; yield its descriptor and the marker that its last holder wrote.

    While it is held by somebody else, say so. When its holder's task is gone but the lock is not free,
    `stop_orphans(marker)` is called with the holder's marker. Raises EnvironmentFault after `timeout_s`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _wait(descriptor, path=path, timeout_s=timeout_s, report=report, stop_orphans=stop_orphans)
        last = read_holder(path)
        _write_holder(descriptor, marker=marker)
        yield descriptor, last.marker if last else None
    finally:
        os.close(descriptor)  # never LOCK_UN: that would take the lock from the keeper too


def read_holder(path: Path) -> Holder | None:
    """Return what the lock file says; None when nothing readable was written."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return Holder(pid=int(said["pid"]), started=int(said["started"]), marker=str(said["marker"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_holder(descriptor: int, *, marker: str) -> None:
    text = json.dumps({"pid": os.getpid(), "started": start_ticks(os.getpid()), "marker": marker})
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


def _wait(
    descriptor: int,
    *,
    path: Path,
    timeout_s: float,
    report: Callable[[str], None],
    stop_orphans: Callable[[str], object],
) -> None:
    began = time.monotonic()
    said = float("-inf")
    while not _try(descriptor):
        waited = time.monotonic() - began
        holder = read_holder(path)
        if waited > timeout_s:
            message = (
                f"the accelerator is in use: {path} is held by {_name(holder)} since before {waited:.0f} s. "
                "Wait for that run, or stop it, and try again."
            )
            raise EnvironmentFault(message)
        if holder and not holder.lives and waited > _ORPHAN_AFTER_S:
            stop_orphans(holder.marker)
        if time.monotonic() - said > _REPORT_EVERY_S:
            report(f"waiting for the accelerator: {_name(holder)} uses it")
            said = time.monotonic()
        time.sleep(_POLL_S)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _name(holder: Holder | None) -> str:
    return "another process" if holder is None else f"process {holder.pid}"
