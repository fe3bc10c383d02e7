"""Backups of a real warehouse, and the restores that prove themselves."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from pipeline import steps
from pipeline.cli import main
from pipeline.errors import EnvironmentFault, UserError
from pipeline.steps import backing_up
from pipeline.system import postgres
from pipeline.warehouse import backup_restore
from pipeline.warehouse.backup import TableSum, read_manifest, server_version, write_backup
from pipeline.warehouse.backup_restore import proof, restore
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import migrate
from pipeline.warehouse.publish import publish, quarantine_load
from pipeline.warehouse.roles import Refused, make_roles
from tests.support import warehouse as build

PROGRAMS = {name: str(postgres.client_program(name)) for name in ("pg_dump", "pg_restore", "psql")}


@pytest.fixture(scope="module")
def filled(warehouse_url: str) -> Iterator[Engine]:
    """A warehouse with one published block and one that was quarantined."""
    engine = open_warehouse(warehouse_url)
    publish(engine, stage(engine, build.block_load()))
    other = build.block(of=build.sweep("s2", day=2))
    quarantine_load(engine, stage(engine, build.block_load(other)), "nothing holds")
    yield engine
    engine.dispose()


@pytest.fixture
def empty(database_url: str) -> Iterator[Engine]:
    engine = open_warehouse(database_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def backup(filled: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backup") / "warehouse.dump"
    write_backup(filled, path, pg_dump=PROGRAMS["pg_dump"], report=lambda _: None)
    return path


def restored(engine: Engine, path: Path, *, replace: bool = False) -> dict[str, int]:
    manifest = restore(engine, path, pg_restore=PROGRAMS["pg_restore"], psql=PROGRAMS["psql"], replace=replace)
    return {table.table: table.rows for table in manifest.tables}


def counted(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return connection.execute(text(f"select count(*) from {table}")).scalar_one()


def test_a_restore_has_every_row_and_the_views_work(backup: Path, empty: Engine) -> None:
    rows = restored(empty, backup)
    assert (rows["warehouse.request"], rows["staging.request"]) == (12, 12)
    assert counted(empty, "warehouse.request") == 12
    assert counted(empty, "warehouse.verdicts") == 2
    assert migrate(empty) == read_manifest(backup).revision


def test_roles_have_their_rights_again_after_a_restore(backup: Path, empty: Engine) -> None:
    assert make_roles(empty) is None
    restored(empty, backup)
    with empty.begin() as connection:
        connection.execute(text("set local role specwatch_reader"))
        assert connection.execute(text("select count(*) from warehouse.verdicts")).scalar_one() == 2
    with empty.connect() as connection:
        connection.execute(text("set local role specwatch_reader"))
        with pytest.raises(ProgrammingError, match="permission denied"):
            connection.execute(text("select prompt_id from warehouse.request"))


def test_a_restore_says_when_roles_wait_for_their_rights(
    backup: Path, empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make_roles(empty) is None
    monkeypatch.setattr(backup_restore, "make_roles", lambda _: Refused("permission denied to grant", ""))
    with pytest.raises(EnvironmentFault, match=r"rows are restored.*permission denied.*specwatch db roles"):
        restored(empty, backup)
    assert counted(empty, "warehouse.request") == 12


def test_pg_restore_reads_the_file_as_it_is(backup: Path) -> None:
    listed = subprocess.run(
        [PROGRAMS["pg_restore"], "--list", str(backup)], capture_output=True, text=True, check=True
    ).stdout
    assert "TABLE warehouse request" in listed


def test_a_filled_database_is_left_alone_unless_told_to_replace(backup: Path, empty: Engine) -> None:
    publish(empty, stage(empty, build.block_load(build.block(of=build.sweep("mine")))))
    with pytest.raises(UserError, match=r"holds rows already: .*request \(12\).*--replace"):
        restored(empty, backup)
    assert counted(empty, "warehouse.sweep where sweep_id = 'mine'") == 1
    restored(empty, backup, replace=True)
    assert counted(empty, "warehouse.sweep where sweep_id = 'mine'") == 0
    assert counted(empty, "warehouse.sweep where sweep_id = 's1'") == 1


@pytest.mark.parametrize("kept", [0, 10, 4000, -1])
def test_a_backup_that_was_cut_short_changes_nothing(backup: Path, empty: Engine, tmp_path: Path, kept: int) -> None:
    short = tmp_path / "short.dump"
    short.write_bytes(backup.read_bytes()[:kept])
    with pytest.raises(UserError, match="its end is missing"):
        restored(empty, short, replace=True)
    assert counted(empty, "warehouse.request") == 0


def test_a_backup_that_was_changed_changes_nothing(backup: Path, empty: Engine, tmp_path: Path) -> None:
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "changed.dump").write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        restored(empty, tmp_path / "changed.dump", replace=True)


def test_a_restore_that_does_not_add_up_is_undone(backup: Path, empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(empty, stage(empty, build.block_load(build.block(of=build.sweep("mine")))))

    def other(manifest):
        tables = [
            TableSum(t.table, t.rows, "1" if t.table == "warehouse.request" else t.checksum) for t in manifest.tables
        ]
        return proof(
            type(manifest)(**{name: getattr(manifest, name) for name in manifest.__slots__} | {"tables": tables})
        )

    monkeypatch.setattr("pipeline.warehouse.backup_restore.proof", other)
    with pytest.raises(EnvironmentFault, match=r"nothing was changed: warehouse\.request is not what was backed up"):
        restored(empty, backup, replace=True)
    assert counted(empty, "warehouse.sweep where sweep_id = 'mine'") == 1


def test_a_view_of_someone_else_is_not_dropped_in_passing(backup: Path, empty: Engine) -> None:
    with empty.begin() as connection:
        connection.execute(text("create view public.mine as select sweep_id from warehouse.sweep"))
    with pytest.raises(UserError, match="would be lost: mine"):
        restored(empty, backup)


def test_a_backup_of_a_newer_release_is_refused(backup: Path, empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.warehouse.backup_restore.known_revisions", set)
    with pytest.raises(UserError, match="update Specwatch"):
        restored(empty, backup)


def test_an_unmigrated_database_has_nothing_to_back_up(postgres_server: str, tmp_path: Path) -> None:
    engine = open_warehouse(postgres.ensure_database(postgres_server, "without_tables"))
    with pytest.raises(UserError, match="nothing to back up"):
        write_backup(engine, tmp_path / "b", pg_dump=PROGRAMS["pg_dump"], report=lambda _: None)
    engine.dispose()


def test_a_program_older_than_the_server_is_refused(
    filled: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.1'\n")
    old.chmod(0o755)
    monkeypatch.setattr(postgres, "client_program", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    major, _ = server_version(filled)
    with pytest.raises(EnvironmentFault, match=rf"Postgres {major}.*found only .*pg_dump \(9\)"):
        backing_up._program("pg_dump", filled)


def test_the_command_line_backs_up_and_restores_into_a_database_of_its_own(
    filled: Engine,
    warehouse_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", warehouse_url)
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    assert main(["db", "backup", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [Path(made["file"]).name]
    assert main(["db", "backup", str(tmp_path / "named.dump")]) == 0
    capsys.readouterr()
    assert main(["db", "restore", made["file"], "--into", "Copy of it", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["database"] == "Copy of it"
    assert told["tables"] == made["tables"]
    assert main(["db", "restore", made["file"]]) == 2
    assert main(["db", "restore", made["file"], "--replace"]) == 0
    assert "every count and checksum agrees" in capsys.readouterr().out


def test_maintenance_keeps_the_newest_backups_where_a_directory_is_named(
    filled: Engine, warehouse_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", warehouse_url)
    monkeypatch.delenv("SPECWATCH_BACKUPS", raising=False)
    assert steps.backup_warehouse(report=lambda _: None)["file"] is None
    monkeypatch.setenv("SPECWATCH_BACKUPS", str(tmp_path))
    old = [tmp_path / f"warehouse-2026010{day}T000000Z.dump" for day in range(1, 9)]
    for path in [*old, tmp_path / "mine.dump"]:
        path.write_text("older")
    done = steps.backup_warehouse(report=lambda _: None)
    assert done["dropped"] == [str(path) for path in old[:2]]
    assert {path.name for path in tmp_path.iterdir()} == {
        "mine.dump",
        Path(done["file"]).name,
        *(path.name for path in old[2:]),
    }


def test_where_the_address_asks_for_tls_the_embedded_programs_are_left_out(
    filled: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backing_up, "server_version", lambda _: (15, "15.0"))
    monkeypatch.setattr(backing_up.shutil, "which", lambda _: None)
    assert backing_up._program("pg_dump", filled) == PROGRAMS["pg_dump"]
    asking = open_warehouse(filled.url.update_query_dict({"sslmode": "require"}).render_as_string(hide_password=False))
    with pytest.raises(EnvironmentFault, match="none was found"):
        backing_up._program("pg_dump", asking)
