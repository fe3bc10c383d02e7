"""Processes of ours are found and ended by their marker alone, wherever they hang in the tree."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.system.processes import SERVER_VARIABLE, SYSTEM_VARIABLE, end_marked, find_marked, home_marker

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def marker(tmp_path: Path) -> str:
    return home_marker(tmp_path)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a Python with variables of its own; whatever still runs is killed at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def run(code: str = SLEEP, *, session: bool = False, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=os.environ | variables,
            start_new_session=session,
            stdout=subprocess.PIPE if code == STUBBORN else None,
        )
        started.append(process)
        if process.stdout:
            process.stdout.readline()  # the handler is in place
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_homes_have_markers_of_their_own(tmp_path: Path) -> None:
    assert home_marker(tmp_path / "a") != home_marker(tmp_path / "b")
    assert home_marker(tmp_path / "a") == home_marker(tmp_path / "x" / ".." / "a")


def test_it_finds_services_and_servers_in_any_session(marker: str, start: Start) -> None:
    service = start(**{SYSTEM_VARIABLE: marker})
    server = start(session=True, **{SERVER_VARIABLE: marker})
    start(**{SYSTEM_VARIABLE: marker + "0"})

    assert {process.pid for process in find_marked(marker)} == {service.pid, server.pid}
    assert [process.pid for process in find_marked(marker, variables=(SERVER_VARIABLE,))] == [server.pid]


def test_it_ends_what_is_marked_and_nothing_else(marker: str, start: Start) -> None:
    ours = start(session=True, **{SERVER_VARIABLE: marker})
    other = start(**{SERVER_VARIABLE: "another"})

    assert end_marked(marker, grace_s=5) == []

    assert ours.wait(timeout=5) == -15
    assert other.poll() is None


def test_what_ignores_a_polite_request_is_killed(marker: str, start: Start) -> None:
    stubborn = start(STUBBORN, **{SYSTEM_VARIABLE: marker})

    assert end_marked(marker, grace_s=0.5) == []

    assert stubborn.wait(timeout=5) == -9


def test_the_process_that_asks_is_spared(marker: str) -> None:
    code = f"from pipeline.system.processes import end_marked; print(end_marked({marker!r}, grace_s=1))"

    asked = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {SYSTEM_VARIABLE: marker},
        capture_output=True,
        text=True,
        check=True,
    )

    assert asked.stdout.strip() == "[]"
