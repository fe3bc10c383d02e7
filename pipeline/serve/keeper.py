"""The process between us and a server: holds the lock, waits for our word, and takes the server with it.

Run as a script with one JSON argument; standard library only, imports nothing of Specwatch. Where it may, it is the
init of a PID namespace, so that its end is the end of everything inside. It ends when
  - the server ended: with the server's exit status (128 + n for signal n);
  - the control pipe says `t`: SIGTERM to the server, after the grace SIGKILL to all;
  - the control pipe closes, because we died: SIGKILL to all, at once.
A pipe is the first signal of our death because PR_SET_PDEATHSIG follows the thread that forked, not the process, and
is lost on entering a user namespace. It is set all the same where it helps: a fork of ours could hold the pipe open.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_RUN = 127
_SIGNAL_BASE = 128
_REAP_DEADLINE_S = 10.0


def main(job: dict[str, Any]) -> int:
    """Enter the namespace if there is one (then this runs again inside of it), or keep the server."""
    if job["namespace"]:
        if not _bound_to(job["parent"], by_signal=job["die_with_parent"]):
            return _SIGNAL_BASE + signal.SIGKILL
        inside = job | {"namespace": [], "init": True}
        os.execvp(job["namespace"][0], [*job["namespace"], *_this(), json.dumps(inside)])  # noqa: S606 - no shell wanted
    if not job["init"]:
        if not _bound_to(job["parent"], by_signal=False):
            return _SIGNAL_BASE + signal.SIGKILL
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    return _Keeper(job).run()


def _bound_to(parent: int, *, by_signal: bool) -> bool:
    """Die with the parent from now on; False when it is gone already, which the signal would not tell."""
    if by_signal:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _this() -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve())]


class _Keeper:
    """One server and its descendants."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._is_init = bool(job["init"]) and os.getpid() == 1
        self._status: int | None = None
        self._deadline: float | None = None
        self._leader = 0

    def run(self) -> int:
        """Start the server, wait for the first reason to end, leave nothing behind; return the exit status."""
        wake = _wake_on_signals()
        try:
            # Kept to the end: a dropped Popen would collect a server that died at once, and we would wait for it.
            server = subprocess.Popen(
                self._job["command"],
                stdin=subprocess.DEVNULL,
                process_group=0,
                preexec_fn=None if self._is_init else _die_with_keeper,  # noqa: PLW1509  # one thread only
            )
        except OSError as error:
            sys.stderr.write(f"cannot run {self._job['command'][0]}: {error}\n")
            return _CANNOT_RUN
        self._leader = server.pid
        control = self._job["control"]
        while self._status is None and not self._expired():
            ready = _readable([control, wake], timeout_s=self._remaining())
            if control in ready:
                word = os.read(control, 16)
                if not word:
                    break
                self._ask_to_end()
            if wake in ready and signal.SIGTERM in os.read(wake, 64):
                self._ask_to_end()
            self._reap()
        self._end_all()
        return self._status if self._status is not None else _SIGNAL_BASE + signal.SIGKILL

    def _ask_to_end(self) -> None:
        if self._deadline is None:
            self._deadline = time.monotonic() + float(self._job["grace_s"])
            _kill(self._leader, signal.SIGTERM)

    def _remaining(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _expired(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _reap(self) -> bool:
        """Collect ended children, orphans included; return whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._leader:
                code = os.waitstatus_to_exitcode(status)
                self._status = code if code >= 0 else _SIGNAL_BASE - code

    def _end_all(self) -> None:
        """Kill whatever is left, and wait until it is gone: after us, the lock is free."""
        deadline = time.monotonic() + _REAP_DEADLINE_S
        while time.monotonic() < deadline:
            if self._is_init:
                _kill(-1, signal.SIGKILL)  # all of the namespace but us
            else:
                _kill(-self._leader, signal.SIGKILL)
                for child in _children():
                    _kill(child, signal.SIGKILL)
            if not self._reap():
                return
            time.sleep(0.01)


def _wake_on_signals() -> int:
    """Return a descriptor that gets the number of each signal: a child ended, or we are asked to end."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return read


def _readable(descriptors: list[int], *, timeout_s: float | None) -> list[int]:
    return select.select(descriptors, [], [], timeout_s)[0]


def _die_with_keeper() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _children() -> list[int]:
    """Return our children; descendants that lost their parent are among them, because we are their reaper."""
    own = str(os.getpid())
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == own:
            found.append(int(path.parent.name))
    return found


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
