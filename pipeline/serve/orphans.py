"""Servers that outlived their task: found by the marker in their environment, stopped, and waited for."""

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.errors import EnvironmentFault

_POLITE_S = 3.0
_KILLED_S = 15.0


def find_marked(marks: Mapping[str, str]) -> dict[int, int]:
    """Return pid -> pidfd of every process whose environment holds all of `marks`; the caller closes them.

    The pidfd is opened before the environment is read, so a signal can never reach another process with that number.
    Processes of other users cannot be read and are passed over.
    """
    wanted = [f"{name}={value}".encode() for name, value in marks.items()]
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            handle = os.pidfd_open(int(entry.name))
        except OSError:
            continue
        if _carries(entry, wanted=wanted):
            found[int(entry.name)] = handle
        else:
            os.close(handle)
    return found


def stop_marked(marks: Mapping[str, str], *, report: Callable[[str], None]) -> int:
    """Stop every process that carries `marks`, politely at first, and wait until none does; return their number.

    Raises EnvironmentFault naming the processes when some do not end, such as one stuck in a driver call.
    """
    stopped: set[int] = set()
    for number, patience_s in ((signal.SIGTERM, _POLITE_S), (signal.SIGKILL, _KILLED_S)):
        deadline = time.monotonic() + patience_s
        while found := find_marked(marks):
            if fresh := sorted(set(found) - stopped):
                report(f"stopping a server left by an earlier run: process {', '.join(map(str, fresh))}")
            stopped |= set(found)
            _signal_and_wait(found, number=number, timeout_s=max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                break
    if left := find_marked(marks):
        for handle in left.values():
            os.close(handle)
        message = (
            f"processes {', '.join(map(str, sorted(left)))} of an earlier server do not end, so nothing can be "
            "measured beside them. Look at them with `ps`; one in state D waits for a driver, and needs a reboot."
        )
        raise EnvironmentFault(message)
    return len(stopped)


def _signal_and_wait(found: Mapping[int, int], *, number: int, timeout_s: float) -> None:
    """Signal all, wait until all ended or the time is over, close the handles."""
    try:
        for handle in found.values():
            try:
                signal.pidfd_send_signal(handle, number)
            except OSError:
                continue  # ended meanwhile
        waiting = select.poll()
        for handle in found.values():
            waiting.register(handle, select.POLLIN)
        left = set(found.values())
        deadline = time.monotonic() + timeout_s
        while left and (remaining := deadline - time.monotonic()) > 0:
            for handle, _ in waiting.poll(remaining * 1000):
                waiting.unregister(handle)
                left.discard(handle)
    finally:
        for handle in found.values():
            os.close(handle)


def _carries(entry: Path, *, wanted: list[bytes]) -> bool:
    try:
        variables = (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return all(mark in variables for mark in wanted)
