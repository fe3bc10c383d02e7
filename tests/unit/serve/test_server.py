"""A server as a context manager, on the fake vLLM: ready, failed with a class, stopped."""

import http.client
import json
import os
import signal
import socket
import threading
from pathlib import Path

import psutil
import pytest

from pipeline.serve.errors import ServerDied, ServerFailed
from pipeline.serve.fencing import namespace_command
from pipeline.serve.server import Server, serve
from tests.unit.serve.conftest import Arm, until

pytestmark = pytest.mark.loopback

MODES = [
    pytest.param(None, id="namespace", marks=pytest.mark.skipif(not namespace_command(), reason="unshare not allowed")),
    pytest.param(False, id="process-group"),
]


def chat(server: Server) -> int:
    """Send one chat request of eight tokens; return the HTTP status."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("namespace", MODES)
def test_a_server_is_ready_scraped_and_gone_after(arm: Arm, namespace: bool | None) -> None:
    with serve(arm.argv, **arm.serve_arguments(), namespace=namespace) as server:
        assert server.url == f"http://127.0.0.1:{arm.port}"
        assert 0 < server.ready_s < 30
        assert "api_server" in " ".join(psutil.Process(server.pid).cmdline())
        assert "vllm:generation_tokens_total" in server.scrape()
        server.check()
        assert chat(server) == 200
        assert len(arm.left()) >= 3  # the API server, its EngineCore, and the keeper
    assert arm.left() == []
    assert "shutdown triggered" in arm.log_path.read_text()


def test_without_permission_to_unshare_a_server_is_its_own_process_group(arm: Arm) -> None:
    with serve(arm.argv, **arm.serve_arguments(), namespace=False) as server:
        assert not server.fenced
        assert os.getpgid(server.pid or 0) not in {os.getpgid(0), os.getpgid(server.process.pid)}


def test_the_server_gets_none_of_our_secrets(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "WAREHOUSE_URL", "HF_TOKEN", "VLLM_API_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "secret-value")
    with serve(arm.argv, **arm.serve_arguments()) as server:
        given = Path(f"/proc/{server.pid}/environ").read_bytes()
        assert b"secret-value" not in given
        assert b"PATH=" in given


@pytest.mark.parametrize(
    "failure_class",
    [
        "out_of_memory",
        "architecture_unsupported",
        "driver_too_old",
        "no_access",
        "not_found",
        "bad_flag",
        "port_taken",
        "engine_died",
        "killed",
        "disk_full",
        "unknown",
    ],
)
def test_a_death_at_start_is_classified(arm: Arm, failure_class: str) -> None:
    with (
        pytest.raises(ServerFailed) as caught,
        serve(arm.argv, **arm.serve_arguments(die_at_start=failure_class)),
    ):
        pytest.fail("it was never ready")
    assert caught.value.failure.failure_class == failure_class
    assert caught.value.failure.next_step
    assert arm.left() == []


def test_a_flag_the_release_does_not_know_is_a_bad_flag(arm: Arm) -> None:
    with pytest.raises(ServerFailed) as caught, serve((*arm.argv, "--swap-space", "4"), **arm.serve_arguments()):
        pytest.fail("it was never ready")
    assert caught.value.failure.failure_class == "bad_flag"
    assert "--swap-space" in caught.value.failure.message


def test_an_interpreter_that_is_not_there_fails_with_its_path(arm: Arm) -> None:
    with (
        pytest.raises(ServerFailed) as caught,
        serve((str(arm.directory / "nowhere"), *arm.argv[1:]), **arm.serve_arguments()),
    ):
        pytest.fail("it was never ready")
    assert "nowhere" in caught.value.failure.message


def test_a_taken_port_is_named_before_anything_starts(arm: Arm) -> None:
    with socket.create_server(("127.0.0.1", arm.port)):
        with pytest.raises(ServerFailed) as caught, serve(arm.argv, **arm.serve_arguments()):
            pytest.fail("it was never ready")
        assert caught.value.failure.failure_class == "port_taken"
        assert str(arm.port) in caught.value.failure.message
        assert not arm.log_path.exists()


def test_a_port_shared_with_another_server_is_refused(arm: Arm) -> None:
    """vLLM sets SO_REUSEPORT, so a server that binds at the same moment would get a share of our requests."""
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    late = threading.Timer(0.3, lambda: (other.bind(("127.0.0.1", arm.port)), other.listen()))
    late.start()
    try:
        with pytest.raises(ServerFailed) as caught, serve(arm.argv, **arm.serve_arguments(start_delay_s="1.5")):
            pytest.fail("it served")
    finally:
        late.join()
        other.close()
    assert caught.value.failure.failure_class == "port_taken"
    assert "2 servers listen" in caught.value.failure.message


@pytest.mark.parametrize("namespace", MODES)
def test_a_server_that_is_not_ready_in_time_is_stopped(arm: Arm, namespace: bool | None) -> None:
    arguments = arm.serve_arguments(hang_at_start="1") | {"start_timeout_s": 1.5}
    with pytest.raises(ServerFailed) as caught, serve(arm.argv, **arguments, namespace=namespace):
        pytest.fail("it was never ready")
    assert caught.value.failure.failure_class == "startup_timeout"
    assert "last log line" in caught.value.failure.message
    assert arm.left() == []


@pytest.mark.parametrize("namespace", MODES)
def test_an_api_server_that_dies_in_a_request_takes_its_engine_with_it(arm: Arm, namespace: bool | None) -> None:
    with serve(arm.argv, **arm.serve_arguments(die_at="1"), namespace=namespace) as server:
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            chat(server)
        with pytest.raises(ServerDied) as caught:
            server.check()
        assert caught.value.failure.failure_class == "engine_died"
        assert arm.left() == []


@pytest.mark.parametrize("namespace", MODES)
def test_kill_9_of_the_api_server_takes_its_engine_with_it(arm: Arm, namespace: bool | None) -> None:
    with serve(arm.argv, **arm.serve_arguments(), namespace=namespace) as server:
        os.kill(server.pid or 0, signal.SIGKILL)
        until(lambda: not arm.left(), what="the end of every process")
        with pytest.raises(ServerDied) as caught:
            server.scrape()
        assert caught.value.failure.failure_class == "killed"


def test_an_engine_that_died_is_seen_though_the_api_server_lives(arm: Arm) -> None:
    with serve(arm.argv, **arm.serve_arguments(engine_dies_at="1")) as server:
        assert chat(server) == 500
        with pytest.raises(ServerDied) as caught:
            server.check()
        assert "503" in caught.value.failure.message


@pytest.mark.parametrize("namespace", MODES)
def test_a_server_that_ignores_sigterm_is_killed_after_the_grace(arm: Arm, namespace: bool | None) -> None:
    arguments = arm.serve_arguments(ignore_term="1") | {"stop_grace_s": 0.5}
    with serve(arm.argv, **arguments, namespace=namespace):
        pass
    assert arm.left() == []


def test_an_error_inside_stops_the_server_and_goes_on(arm: Arm) -> None:
    with pytest.raises(ZeroDivisionError), serve(arm.argv, **arm.serve_arguments()):
        _ = 1 / 0
    assert arm.left() == []


def test_the_old_signal_handler_comes_back(arm: Arm) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with serve(arm.argv, **arm.serve_arguments()):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_it_serves_outside_the_main_thread_too(arm: Arm) -> None:
    ready: list[float] = []

    def task() -> None:
        with serve(arm.argv, **arm.serve_arguments()) as server:
            ready.append(server.ready_s)

    thread = threading.Thread(target=task)
    thread.start()
    thread.join(timeout=30)
    assert ready
    assert arm.left() == []
