"""Whether this machine lets us put a server into a PID namespace of its own, so that its end takes all of it."""

import functools
import shutil
import subprocess

_PROBE_TIMEOUT_S = 10
_NAMESPACE = ("--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc")
_ATTEMPTS = (_NAMESPACE, ("--user", "--map-current-user", *_NAMESPACE))  # as root; as anybody


@functools.cache
def namespace_command() -> tuple[str, ...]:
    """Return the command that runs its arguments in a new PID namespace; empty where that is not allowed."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    for options in _ATTEMPTS:
        if _works([unshare, *options, "true"]):
            return (unshare, *options)
    return ()


def _works(command: list[str]) -> bool:
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0
