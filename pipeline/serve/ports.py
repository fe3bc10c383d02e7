"""Free ports on the loopback interface."""

import socket

import psutil

from pipeline.errors import EnvironmentFault

HOST = "127.0.0.1"
TRIES = 20
EPHEMERAL_FROM = 32768  # Linux hands out ports from here on to clients: a server there can collide with one


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port`; closing connections do not count (SO_REUSEADDR, as vLLM)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def listeners(port: int) -> int:
    """Return how many sockets listen on `port`.

    vLLM sets SO_REUSEPORT: two servers that start at once can both bind a port, and the kernel then deals the requests
    out between them.
    """
    return sum(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in psutil.net_connections(kind="tcp")
    )


def first_free_port(start: int) -> int:
    """Return the first free port of the twenty from `start`, below 32768. Raises EnvironmentFault when none is."""
    last = min(start + TRIES, EPHEMERAL_FROM)
    for port in range(start, last):
        if is_free(port):
            return port
    message = f"no free port from {start} to {last - 1} on {HOST}. Stop what listens there, or set another port."
    raise EnvironmentFault(message)
