"""Where the requests go: the address behind the URL, looked up once before the window."""

import ipaddress
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Target:
    """One server. `problem`: why its name has no address; then every request is refused."""

    host: str
    port: int
    path: str  # before /v1, usually empty
    family: int = socket.AF_INET
    address: Any = None  # what socket.connect takes
    tls: ssl.SSLContext | None = None
    problem: str | None = None

    @property
    def name(self) -> str:
        """Host and port, as in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether the server is on this machine."""
        return self.address is not None and ipaddress.ip_address(self.address[0]).is_loopback


def resolve(url: str, *, look_up: Callable[..., list[Any]] = socket.getaddrinfo) -> Target:
    """Return the target of an http or https URL. Raises ValueError for another kind."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"{url!r} is not an http or https address"
        raise ValueError(message)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    path = parts.path.rstrip("/")
    try:
        family, _, _, _, address = look_up(parts.hostname, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        return Target(parts.hostname, port, path, tls=tls, problem=f"{parts.hostname}: {error}")
    return Target(parts.hostname, port, path, family=family, address=address, tls=tls)
