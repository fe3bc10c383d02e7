"""Processes that are ours: found by a marker in their environment, wherever they were re-parented to.

Airflow's task supervisors and vLLM's servers live in process groups of their own and outlive most kills, so neither a
process group nor a pid file finds them. The marker does: every child inherits it. A program that sets its process
title can overwrite it in /proc, which SPT_NOENV=1 prevents.
"""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

SYSTEM_VARIABLE = "SPECWATCH_SYSTEM"
SERVER_VARIABLE = "SPECWATCH_SERVER"
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Marked:
    """A live process that carries our marker; `started` tells it from a later one with the same pid."""

    pid: int
    started: int  # clock ticks since boot
    command: str


def home_marker(home: Path) -> str:
    """Return the value that processes of the system in `home` carry: two homes never see each other."""
    return hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:12]


def find_marked(marker: str, *, variables: Iterable[str] = (SYSTEM_VARIABLE, SERVER_VARIABLE)) -> list[Marked]:
    """Return every live process that carries `marker`, except this one and its ancestors."""
    wanted = {f"{variable}={marker}".encode() for variable in variables}
    spared = _ancestors(os.getpid())
    found = []
    for pid in _pids():
        if pid not in spared:
            process = _marked(pid, wanted=wanted)
            if process is not None:
                found.append(process)
    return found


def end_marked(
    marker: str,
    *,
    variables: Iterable[str] = (SYSTEM_VARIABLE, SERVER_VARIABLE),
    grace_s: float = 10.0,
    report: Callable[[str], None] = lambda _: None,
) -> list[Marked]:
    """Ask every marked process to end, kill what has not after `grace_s`, and return what was still alive then.

    Looks again until nothing carries the marker: a process may fork while it is being stopped.
    """
    variables = tuple(variables)
    asked: set[Marked] = set()
    deadline = time.monotonic() + grace_s
    give_up = deadline + grace_s
    while alive := find_marked(marker, variables=variables):
        now = time.monotonic()
        if now > give_up:
            break
        for process in alive:
            if now > deadline:
                _send(process, signal.SIGKILL)
            elif process not in asked:
                report(f"ending {process.pid} {process.command}")
                _send(process, signal.SIGTERM)
                asked.add(process)
        time.sleep(POLL_S)
    return alive


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _marked(pid: int, *, wanted: set[bytes]) -> Marked | None:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        if wanted.isdisjoint(environment.split(b"\0")):
            return None
        started = _started(pid)
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # gone, or another user's
        return None
    if started is None:
        return None
    return Marked(pid=pid, started=started, command=command.replace(b"\0", b" ").decode(errors="replace")[:120])


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command's name, which may hold spaces: state, ppid, ..."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _started(pid: int) -> int | None:
    fields = _stat(pid)
    return None if fields[0] in "ZX" else int(fields[19])


def _ancestors(pid: int) -> set[int]:
    pids = set()
    while pid > 0:
        pids.add(pid)
        try:
            pid = int(_stat(pid)[1])
        except OSError:
            break
    return pids


def _send(process: Marked, number: signal.Signals) -> None:
    try:
        if _started(process.pid) == process.started:
            os.kill(process.pid, number)
    except OSError:  # ended meanwhile
        return
