"""What a person reads when the embedded Postgres cannot be made, started, stopped or reached. None is started here."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system import postgres
from pipeline.system.postgres import PostgresStatus

Answer = tuple[int, str, str]
Programs = Callable[..., list[str]]
URL = "postgresql://specwatch:made-up@127.0.0.1:9/postgres"  # pragma: allowlist secret - made up for the test


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Let programs answer by name with (exit status, output, errors), others with success; returns who was run."""

    def answer(**answers: Answer) -> list[str]:
        ran: list[str] = []

        def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
            names = [Path(word).name for word in argv]
            name = next((n for n in names if n in {"initdb", "pg_ctl", "psql", "createdb"}), names[0])
            ran.append(name)
            return subprocess.CompletedProcess(argv, *answers.get(name, (0, "", "")))

        monkeypatch.setattr(postgres, "_run", run)
        monkeypatch.setattr(postgres, "_give", lambda *_: None)
        return ran

    return answer


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(postgres.time, "sleep", lambda _: None)
    return tmp_path / "postgres"


def running(monkeypatch: pytest.MonkeyPatch, *, is_running: bool) -> None:
    found = PostgresStatus(running=is_running, pid=7 if is_running else None, port=9 if is_running else None)
    monkeypatch.setattr(postgres, "status", lambda _: found)


def test_files_that_cannot_be_made_are_taken_away_again(data_dir: Path, programs: Programs) -> None:
    programs(initdb=(1, "", "creating\ninitdb: error: No space left on device\n"))
    with pytest.raises(EnvironmentFault, match=r"cannot make its files.*No space left on device.*Check free space"):
        postgres.start(data_dir, port=29999)
    assert not data_dir.exists()


@pytest.mark.loopback
def test_a_server_that_does_not_start_is_tried_again_and_its_log_is_quoted(data_dir: Path, programs: Programs) -> None:
    ran = programs(pg_ctl=(1, "", ""))
    data_dir.mkdir()
    (data_dir / "PG_VERSION").touch()
    (data_dir.parent / "postgres.password").write_text("x")
    (data_dir.parent / "postgres.log").write_text("1\nFATAL: no\nHINT: yes\nend\n")
    with pytest.raises(EnvironmentFault, match="does not start: FATAL: no / HINT: yes / end"):
        postgres.start(data_dir)
    assert ran.count("pg_ctl") == postgres.START_TRIES


def test_a_server_that_does_not_stop_is_named(
    data_dir: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(pg_ctl=(1, "", ""))
    running(monkeypatch, is_running=True)
    data_dir.mkdir()
    with pytest.raises(EnvironmentFault, match=r"does not stop: exit status 1\. Its log: .*postgres\.log"):
        postgres.stop(data_dir)


def test_a_server_that_refuses_is_named_without_the_password(programs: Programs) -> None:
    programs(psql=(2, "", "psql: error: password authentication failed\n"))
    with pytest.raises(EnvironmentFault, match=r"127\.0\.0\.1:9 refuses: .*authentication failed") as caught:
        postgres.ensure_database(URL, "specwatch")
    assert "made-up" not in str(caught.value)


def test_a_database_that_cannot_be_made_is_named(programs: Programs) -> None:
    programs(createdb=(1, "", "createdb: error: permission denied\n"))
    with pytest.raises(EnvironmentFault, match=r"Database specwatch cannot be made at .*permission denied"):
        postgres.ensure_database(URL, "specwatch")


def test_a_database_that_someone_else_made_meanwhile_is_taken(programs: Programs) -> None:
    ran = programs(createdb=(1, "", 'createdb: error: database "specwatch" already exists\n'))
    assert postgres.ensure_database(URL, "specwatch").endswith("/specwatch")
    assert ran == ["psql", "createdb"]


def test_an_ordinary_user_needs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert postgres._unprivileged(tmp_path) == ()


def test_root_without_a_way_to_be_another_is_told_what_to_do(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    programs(unshare=(1, "", ""), setpriv=(1, "", ""))
    with pytest.raises(EnvironmentFault, match=r"refuses to run as root.*ordinary user, or set WAREHOUSE_URL"):
        postgres._unprivileged(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="refuses to run as root"):
        postgres._unprivileged(tmp_path)


def test_without_its_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentFault, match=r"not installed\. Run `make env`"):
        postgres._binary("psql")


def test_a_program_that_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "COMMAND_TIMEOUT_S", 0.05)
    with pytest.raises(EnvironmentFault, match=r"sleep did not end within 0\.05 s"):
        postgres._run(("sleep", "30"))


def test_a_stale_number_of_a_process_that_is_gone_is_no_server(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "postmaster.pid").write_text("999999999\n/data\n0\n25432\n")
    assert not postgres.status(data_dir).running
    with pytest.raises(EnvironmentFault, match=r"is not running\. Start it with `specwatch db up`"):
        postgres.url(data_dir)
