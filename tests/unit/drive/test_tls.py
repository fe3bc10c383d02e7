"""The same over TLS: whole answers, honest stamps."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.unit.drive.loads import driven
from tests.unit.drive.scripted import answer

pytestmark = pytest.mark.loopback


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key and a certificate for 127.0.0.1 that nobody else trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def secured(certificate: Path) -> Iterator[str]:
    """A TLS server that answers every request with two tokens."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    connection.recv(65536)
                    for step in answer("a", "b" * 100_000):
                        assert isinstance(step, bytes)
                        connection.sendall(step)
                    connection.unwrap()
            except OSError:  # the client did not trust us
                plain.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=10)


def test_answers_come_whole_and_the_clock_says_that_it_is_ours(
    secured: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    found = driven(secured, 3)
    assert [record.error for record in found.requests] == [None] * 3
    assert [record.text for record in found.requests] == ["a" + "b" * 100_000] * 3
    assert found.client.clock == "user"
    for record in found.requests:
        assert record.sent_ns <= record.chunk_ns[0] <= record.chunk_ns[1] <= record.end_ns


def test_a_certificate_that_is_not_trusted_is_refused(secured: str) -> None:
    (found,) = driven(secured, 1).requests
    assert found.error == "refused"
    assert "certificate verify failed" in (found.error_detail or "")


def test_nobody_there_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (found,) = driven(f"https://127.0.0.1:{port}", 1).requests
    assert found.error == "refused"


def test_a_server_that_does_not_speak_tls_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_plainly() -> None:
            connection, _ = listener.accept()
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer_plainly, daemon=True)
        thread.start()
        (found,) = driven(f"https://127.0.0.1:{listener.getsockname()[1]}", 1).requests
        thread.join(timeout=10)
    assert found.error == "refused"
