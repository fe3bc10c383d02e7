"""Ports: the one asked for or a clear refusal; otherwise the next free one."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import psutil
import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system.ports import LOOPBACK, TRIES, choose_port, holder, serves

pytestmark = pytest.mark.loopback

BASE = 29300


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that this process listens on."""
    for port in range(BASE, BASE + 200):
        listener = socket.socket()
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            listener.close()
            continue
        listener.listen()
        yield port
        listener.close()
        return
    pytest.fail("no port to take")


def test_a_port_that_was_asked_for_and_is_taken_names_holder_and_variable(taken: int) -> None:
    with pytest.raises(EnvironmentFault) as refused:
        choose_port(taken, default=BASE, variable="SPECWATCH_AIRFLOW_PORT")

    said = str(refused.value)
    assert f"port {taken} is taken by process {os.getpid()}" in said
    assert "SPECWATCH_AIRFLOW_PORT" in said


def test_without_a_wish_a_taken_default_gives_the_next_free_one(taken: int) -> None:
    chosen = choose_port(None, default=taken, variable="X")

    assert taken < chosen < taken + TRIES


def test_two_services_never_get_the_same_port(taken: int) -> None:
    first = choose_port(None, default=taken, variable="X")
    second = choose_port(None, default=taken, variable="X", taken=frozenset({first}))

    assert first != second


def test_a_free_port_that_was_asked_for_is_given(taken: int) -> None:
    free = choose_port(None, default=taken, variable="X")

    assert choose_port(free, default=taken, variable="X") == free


def test_no_free_port_at_all_names_the_variable() -> None:
    none_left = frozenset(range(BASE, BASE + TRIES))
    with pytest.raises(EnvironmentFault, match=f"no free port from {BASE} to {BASE + TRIES - 1}. Set SPECWATCH_X_PORT"):
        choose_port(None, default=BASE, variable="SPECWATCH_X_PORT", taken=none_left)


def test_a_holder_that_this_user_may_not_see_is_another_process(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(**_: str) -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "net_connections", denied)
    assert holder(taken) == "another process"


@pytest.mark.parametrize(
    ("pid", "said"),
    [(None, "a process of another user"), (-1, "process -1"), (os.getpid(), f"process {os.getpid()} (")],
    ids=["not seen", "gone", "ours"],  # a pid in a test's name would differ between workers
)
def test_a_holder_is_described_as_far_as_it_is_known(
    taken: int, monkeypatch: pytest.MonkeyPatch, pid: int | None, said: str
) -> None:
    address = SimpleNamespace(port=taken)
    found = [
        SimpleNamespace(status="ESTABLISHED", laddr=address, pid=1),
        SimpleNamespace(status=psutil.CONN_LISTEN, laddr=address, pid=pid),
    ]
    monkeypatch.setattr(psutil, "net_connections", lambda **_: found)
    if pid == -1:
        monkeypatch.setattr(psutil, "Process", _gone)
    assert holder(taken).startswith(said)


def test_a_long_command_line_is_cut(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(port=taken), pid=7)]
    monkeypatch.setattr(psutil, "net_connections", lambda **_: found)
    monkeypatch.setattr(psutil, "Process", lambda _: SimpleNamespace(cmdline=lambda: ["x" * 200]))
    assert holder(taken) == f"process 7 ({'x' * 77}...)"


def _gone(pid: int) -> None:
    raise psutil.NoSuchProcess(pid)


def test_a_port_serves_us_only_where_our_process_or_its_child_listens(taken: int) -> None:
    assert serves(os.getpid(), taken)
    assert serves(os.getppid(), taken)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert not serves(other.pid, taken)
        other.communicate()
    assert not serves(other.pid, taken)
    assert not serves(None, taken)
