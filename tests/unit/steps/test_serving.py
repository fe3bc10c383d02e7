"""What is asked of a server while it is measured."""

import http.server
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.steps.serving import _usage

pytestmark = pytest.mark.loopback


@pytest.fixture
def answers() -> Iterator[tuple[Any, list[tuple[int, bytes]]]]:
    """A server on a free port, and what it answers next: status and body."""
    given: list[tuple[int, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = given.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield SimpleNamespace(port=server.server_port), given
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_kv_cache_in_use_is_read_from_metrics(answers: tuple) -> None:
    server, given = answers
    given.append((200, b'vllm:kv_cache_usage_perc{engine="0"} 0.25\n'))
    assert _usage(server) == 0.25


def test_a_server_that_does_not_say_is_an_error_to_count(answers: tuple) -> None:
    server, given = answers
    given.append((503, b""))
    with pytest.raises(OSError, match="was not answered"):
        _usage(server)
