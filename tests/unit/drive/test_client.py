"""What the load client makes of servers that do not answer as they should, and how it waits for a drained one."""

import socket
import threading
from collections.abc import Iterator

import pytest

from pipeline.domain.request import RequestRecord
from pipeline.domain.workload import Prompt
from pipeline.drive.client import Load, drain, drive

PROMPT = Prompt("p", "json", (("user", "hi"),))


def record(port: int, *, timeout_s: float = 5.0) -> RequestRecord:
    """Send one prompt to `port` and return its record."""
    load = Load(
        prompts=[PROMPT],
        output_tokens=4,
        temperature=0.0,
        concurrency=1,
        seed=7,
        request_timeout_s=timeout_s,
    )
    (found,) = drive(f"http://127.0.0.1:{port}", load, served_model="m").requests
    return found


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


@pytest.mark.loopback
def test_a_server_that_says_nothing_is_a_timeout(silent: socket.socket) -> None:
    found = record(silent.getsockname()[1], timeout_s=0.2)
    assert (found.error, found.first_chunk_ns, found.output_tokens) == ("timeout", None, None)
    assert found.sent_ns <= found.end_ns


@pytest.mark.loopback
def test_nobody_there_is_refused(silent: socket.socket) -> None:
    port = silent.getsockname()[1]
    silent.close()
    found = record(port)
    assert found.error == "refused"
    assert str(port) in (found.error_detail or "")


@pytest.mark.loopback
def test_a_connection_that_is_cut_is_a_broken_stream(silent: socket.socket) -> None:
    def cut() -> None:
        connection, _ = silent.accept()
        connection.close()

    thread = threading.Thread(target=cut, daemon=True)
    thread.start()
    found = record(silent.getsockname()[1])
    thread.join(timeout=5)
    assert found.error == "broken_stream"


def test_a_server_is_drained_when_it_says_that_nothing_runs() -> None:
    answers = iter([3.0, OSError("away"), 1.0, 0.0])

    def running() -> float:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    drain(running, deadline_s=5.0, poll_s=0.0)
    assert next(answers, None) is None


def test_a_server_that_is_never_drained_is_named() -> None:
    with pytest.raises(TimeoutError, match="still has requests in flight after 0 s"):
        drain(lambda: 1.0, deadline_s=0.0, poll_s=0.0)
