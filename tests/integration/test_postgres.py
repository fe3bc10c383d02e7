"""The embedded server itself: start, reuse, kill -9, stop."""

import os
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system import postgres
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import migrate
from tests.support.postgres import FAST

pytestmark = pytest.mark.xdist_group("default-ports")  # they choose a port as a person's server does, one at a time


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "postgres"
    yield directory
    postgres.stop(directory)


def until_stopped(data_dir: Path) -> None:
    deadline = time.monotonic() + 10
    while postgres.status(data_dir).running:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_starts_once_and_keeps_its_data_over_kill_and_stop(data_dir: Path) -> None:
    url = postgres.start(data_dir)
    assert postgres.start(data_dir) == url
    engine = open_warehouse(postgres.ensure_database(url, "specwatch"))
    migrate(engine)
    engine.dispose()

    pid = postgres.status(data_dir).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until_stopped(data_dir)
    assert postgres.start(data_dir) == url
    engine = open_warehouse(postgres.ensure_database(url, "specwatch"))
    assert queries.hardware_measured(engine) == []
    engine.dispose()

    assert postgres.stop(data_dir)
    assert not postgres.stop(data_dir)
    assert not postgres.status(data_dir).running
    with pytest.raises(EnvironmentFault, match="specwatch db up"):
        postgres.url(data_dir)


def test_a_number_reused_by_another_process_is_not_our_server(data_dir: Path) -> None:
    url = postgres.start(data_dir, options=FAST)
    pid_file = data_dir / "postmaster.pid"
    content = pid_file.read_text(encoding="utf-8")
    postgres.stop(data_dir)
    pid_file.write_text(content.replace(content.splitlines()[0], str(os.getpid()), 1), encoding="utf-8")
    assert not postgres.status(data_dir).running
    assert postgres.start(data_dir, options=FAST) == url


def test_the_password_is_for_the_owner_alone_and_the_server_local(data_dir: Path) -> None:
    postgres.start(data_dir, options=FAST)
    password = data_dir.with_name("postgres.password")
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    assert postgres.status(data_dir).port < 32768
    command = Path(f"/proc/{postgres.status(data_dir).pid}/cmdline").read_bytes().decode().replace("\0", " ")
    assert "127.0.0.1" in command
    assert password.read_text(encoding="utf-8").strip() not in command


def test_a_taken_port_is_named_with_its_variable(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentFault, match=f"{port} is taken.*SPECWATCH_POSTGRES_PORT"):
            postgres.start(data_dir, port=port)


def test_an_interrupted_initdb_is_begun_again(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "half").touch()
    assert postgres.start(data_dir, options=FAST).startswith("postgresql://")
