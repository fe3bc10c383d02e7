"""Ports: the one asked for or a clear refusal; otherwise the next free one."""

import os
import socket
from collections.abc import Iterator

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system.ports import LOOPBACK, TRIES, choose_port

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
