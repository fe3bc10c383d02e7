"""Which port a service gets: the one that was asked for or nothing; otherwise the next free one."""

import socket

import psutil

from pipeline.errors import EnvironmentFault

LOOPBACK = "127.0.0.1"
TRIES = 20  # ports looked at upward from a default; all defaults lie below the ephemeral range


def is_free(port: int) -> bool:
    """Return whether a server can bind `port` on the loopback interface now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def holder(port: int) -> str:
    """Return who listens on `port`, as far as this user may know."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        connections = []
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
            return _describe(connection.pid)
    return "another process"


def serves(pid: int | None, port: int) -> bool:
    """Return whether process `pid` or one of its children listens on `port`.

    Two systems that start at once can choose the same port: the other one's answer is no sign of life of ours.
    """
    if pid is None:
        return False
    try:
        process = psutil.Process(pid)
        family = {pid, *(child.pid for child in process.children(recursive=True))}
        connections = psutil.net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port and c.pid in family for c in connections)


def choose_port(asked: int | None, *, default: int, variable: str, taken: frozenset[int] = frozenset()) -> int:
    """Return `asked` if it is free, or without a wish the first free port from `default` upward.

    `taken` are ports already promised to other services. Raises EnvironmentFault naming port, holder and `variable`.
    """
    if asked is not None:
        if asked not in taken and is_free(asked):
            return asked
        message = (
            f"port {asked} is taken by {holder(asked)}. Stop it, or set {variable} to another port "
            f"(or leave it unset: the first free one from {default} is used)."
        )
        raise EnvironmentFault(message)
    for port in range(default, default + TRIES):
        if port not in taken and is_free(port):
            return port
    message = f"no free port from {default} to {default + TRIES - 1}. Set {variable} to a free one below 32768."
    raise EnvironmentFault(message)


def _describe(pid: int | None) -> str:
    if pid is None:
        return "a process of another user"
    try:
        command = " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        command = ""
    shown = command if len(command) <= 80 else command[:77] + "..."
    return f"process {pid} ({shown})" if shown else f"process {pid}"
