"""Restores: in one transaction that proves itself. What was there before stays unless every checksum agrees."""

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from shutil import copyfileobj
from typing import IO

from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Engine, text

from pipeline.errors import EnvironmentFault, UserError
from pipeline.warehouse.backup import (
    SETTINGS,
    Manifest,
    checksum_of,
    client_environment,
    read_manifest,
    server_version,
)
from pipeline.warehouse.database import faults_named
from pipeline.warehouse.migrate import SQL
from pipeline.warehouse.roles import make_roles
from pipeline.warehouse.tables.metadata import SCHEMA, STAGING_SCHEMA

HEADER_LINES = 40  # of pg_restore's script: its settings are within
UNKNOWN_BEFORE_17 = b"SET transaction_timeout"
_PROOF = sql.SQL(
    "do $$ declare found record; begin select f.rows, f.checksum into found from ({found}) as f (rows, checksum); "
    "if found.rows <> {rows} or found.checksum <> {checksum} then raise exception {message}, found.rows; end if; "
    "end $$;"
)
_LEAVE_OUT = {"alembic_version"}  # a warehouse that was only migrated is empty


def make_database(engine: Engine, name: str) -> str:
    """Create database `name` beside the warehouse's unless it is there; return its URL, password included."""
    with (
        faults_named(engine),
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
    ):
        there = connection.execute(text("select 1 from pg_database where datname = :name"), {"name": name}).first()
        if there is None:
            connection.exec_driver_sql(f"create database {_quoted(name)}")
    return engine.url.set(database=name).render_as_string(hide_password=False)


def restore(engine: Engine, path: Path, *, pg_restore: str, psql: str, replace: bool) -> Manifest:
    """Restore the backup at `path` into the database of `engine`; return its manifest, which the tables now match.

    One transaction: what is there is dropped, the backup is restored, every table is counted and summed, and a
    difference undoes it all. Raises UserError for a damaged backup, for one of a newer release, and for a database that
    holds rows unless `replace`; EnvironmentFault when Postgres refuses, with what it said.
    """
    manifest = read_manifest(path)
    if manifest.revision not in known_revisions():
        message = f"{path} is of schema revision {manifest.revision}, unknown to this release: update Specwatch."
        raise UserError(message)
    if not replace and (filled := rows_there(engine)):
        tables = ", ".join(f"{name} ({rows})" for name, rows in filled.items())
        message = (
            f"Database {engine.url.database} holds rows already: {tables}. Restore into another one (--into NAME), or "
            "add --replace to put the backup in their place."
        )
        raise UserError(message)
    foreign = _built_on_ours(engine)
    if foreign:
        message = f"These are built on the warehouse and would be lost: {', '.join(foreign)}. Drop them first."
        raise UserError(message)
    with tempfile.TemporaryDirectory() as directory:
        before, after = Path(directory) / "before.sql", Path(directory) / "after.sql"
        before.write_text(f"drop schema if exists {SCHEMA}, {STAGING_SCHEMA} cascade;\n", encoding="utf-8")
        after.write_text(proof(manifest), encoding="utf-8")
        _pour(engine, path, pg_restore=pg_restore, psql=psql, before=before, after=after)
    with engine.begin() as connection:
        connection.exec_driver_sql("set local statement_timeout = 0")
        for table in manifest.tables:
            connection.exec_driver_sql(f"analyze {table.table}")
    _give_rights(engine)
    return manifest


def _give_rights(engine: Engine) -> None:
    """Give the roles, where this server has them, their rights: a backup brings tables, and no rights on them."""
    with engine.connect() as connection:
        known = connection.execute(text("select 1 from pg_roles where rolname = 'specwatch_reader'")).first()
    if known and (refused := make_roles(engine)):
        message = (
            f"The rows are restored, and the roles have no rights on them: {refused.why}. "
            "One who may give them runs: specwatch db roles"
        )
        raise EnvironmentFault(message)


def rows_there(engine: Engine) -> dict[str, int]:
    """Return the tables of the warehouse that hold rows, with how many, without counting more than needed."""
    with faults_named(engine), engine.connect() as connection:
        found = connection.execute(
            text(
                "select c.relname from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid "
                "where n.nspname = :schema and c.relkind in ('r', 'p') and not c.relispartition order by 1"
            ),
            {"schema": SCHEMA},
        ).scalars()
        names = [name for name in found if name not in _LEAVE_OUT]
        counts = {
            name: connection.exec_driver_sql(f"select count(*) from {SCHEMA}.{_quoted(name)}").scalar_one()  # noqa: S608 - a name from the catalogue, quoted
            for name in names
        }
    return {name: rows for name, rows in counts.items() if rows}


def proof(manifest: Manifest) -> str:
    """Return SQL that fails, and names the table, unless every table has the manifest's count and checksum."""
    checks = [
        _PROOF.format(
            found=checksum_of(*table.table.split(".")),
            rows=sql.Literal(table.rows),
            checksum=sql.Literal(table.checksum),
            message=sql.Literal(f"{table.table} is not what was backed up: % rows, expected {table.rows}"),
        ).as_string(None)
        for table in manifest.tables
    ]
    return "\n".join([f"{SETTINGS};", *checks]) + "\n"


def _pour(engine: Engine, path: Path, *, pg_restore: str, psql: str, before: Path, after: Path) -> None:
    """Let pg_restore write its script into psql, between two files, in one transaction."""
    major, _ = server_version(engine)
    environment = client_environment(engine.url)
    read_end, write_end = os.pipe()
    script = f"/dev/fd/{read_end}"
    argv = (
        *(psql, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"),
        *(f"--file={before}", f"--file={script}", f"--file={after}"),
    )
    with (
        tempfile.TemporaryFile() as psql_said,
        tempfile.TemporaryFile() as restore_said,
        subprocess.Popen(
            argv, env=environment, pass_fds=[read_end], stdin=subprocess.DEVNULL, stdout=psql_said, stderr=psql_said
        ) as into,
    ):
        os.close(read_end)
        with subprocess.Popen(
            (pg_restore, "--no-owner", "--no-privileges", "--file=-", str(path)),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=restore_said,
        ) as out:
            assert out.stdout is not None  # noqa: S101 - it was asked for
            with suppress(BrokenPipeError), os.fdopen(write_end, "wb") as sink:  # psql stopped: it says why
                _copy_script(out.stdout, sink, before_17=major < 17, whole=out)
        into.wait()
        if out.returncode != 0 or into.returncode != 0:
            message = f"{path} was not restored, nothing was changed: {_reason(psql_said) or _reason(restore_said)}"
            raise EnvironmentFault(message)


def _copy_script(source: IO[bytes], sink: IO[bytes], *, before_17: bool, whole: "subprocess.Popen[bytes]") -> None:
    """Copy the script; a setting that servers before 17 do not know is left out. End it badly when it is not whole."""
    for _ in range(HEADER_LINES if before_17 else 0):
        line = source.readline()
        if not line.startswith(UNKNOWN_BEFORE_17):
            sink.write(line)
    copyfileobj(source, sink, 1 << 20)
    if whole.wait() != 0:
        sink.write(b"\n\\.\ndo $$ begin raise exception 'pg_restore failed'; end $$;\n")


def is_newest(revision: str) -> bool:
    """Whether this release's schema is at `revision`."""
    return ScriptDirectory(str(SQL / "migrations")).get_current_head() == revision


def known_revisions() -> set[str]:
    """Return every schema revision of this release and of those before it."""
    return {revision.revision for revision in ScriptDirectory(str(SQL / "migrations")).walk_revisions()}


def _built_on_ours(engine: Engine) -> list[str]:
    """Return views outside our schemas that depend on relations in them."""
    with faults_named(engine), engine.connect() as connection:
        return list(
            connection.execute(
                text(
                    "select distinct v.oid::regclass::text from pg_depend as d "
                    "inner join pg_rewrite as w on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid "
                    "inner join pg_class as v on w.ev_class = v.oid "
                    "inner join pg_namespace as n on v.relnamespace = n.oid "
                    "inner join pg_class as ours on d.refclassid = 'pg_class'::regclass and d.refobjid = ours.oid "
                    "inner join pg_namespace as o on ours.relnamespace = o.oid "
                    "where o.nspname = any(:schemas) and n.nspname <> all(:schemas) order by 1"
                ),
                {"schemas": [SCHEMA, STAGING_SCHEMA]},
            ).scalars()
        )


def _reason(said: IO[bytes]) -> str | None:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
    return next(iter(errors or lines), None)


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string(None)
