"""The same over TLS. The kernel stamps segments, not what OpenSSL makes of them: reads carry no stamp."""

import os
import select
import socket
import ssl
from collections.abc import Iterator

from pipeline.drive.clock import Ancillary
from pipeline.drive.connection import READ_BYTES, Connection
from pipeline.drive.exchange import Exchange
from pipeline.drive.target import Target


class TlsConnection(Connection):
    """A TLS connection. Certificates are verified as Python does by default."""

    def __init__(self, exchange: Exchange, *, target: Target, request: bytes, context: ssl.SSLContext) -> None:
        super().__init__(exchange, target=target, request=request)
        self._context = context
        self._tls: ssl.SSLSocket | None = None

    def _handshake(self) -> None:
        try:
            self._secured().do_handshake()
        except ssl.SSLError as error:
            self._wait(error)

    def _write(self, content: memoryview) -> int:
        try:
            return self._secured().send(content)
        except ssl.SSLError as error:
            self._wait(error)
            raise

    def _receive(self) -> Iterator[tuple[Ancillary, bytes]]:
        """Yield until nothing is left: OpenSSL may hold bytes that the socket no longer announces."""
        while True:
            try:
                content = self._secured().recv(READ_BYTES)
            except ssl.SSLEOFError:  # closed without goodbye: whether the answer is whole, HTTP and SSE say
                content = b""
            except ssl.SSLError as error:
                self._wait(error)
                raise
            yield [], content
            if not content:
                return

    def _secured(self) -> ssl.SSLSocket:
        if self._tls is None:
            self._require_connection()
            self._tls = self._context.wrap_socket(
                self.socket, server_hostname=self._target.host, do_handshake_on_connect=False
            )
            self.socket = self._tls
        return self._tls

    def _require_connection(self) -> None:
        """OpenSSL takes connected sockets only. Raises OSError when connecting failed."""
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        try:
            self.socket.getpeername()
        except OSError as error:
            raise BlockingIOError from error

    def _wait(self, error: ssl.SSLError) -> None:
        """Say what to wait for. Raises `error` when it is not about waiting."""
        if isinstance(error, ssl.SSLWantReadError):
            self.wants = select.EPOLLIN
        elif isinstance(error, ssl.SSLWantWriteError):
            self.wants = select.EPOLLOUT
        else:
            raise error
        raise BlockingIOError from error
