"""Backups: pg_dump's custom format with a manifest behind it, both of one snapshot.

The file is what pg_dump wrote, so that pg_restore reads it as it is, followed by the manifest as JSON, its length and a
mark. A file that was cut short has no mark; one that was changed does not match the hash in the manifest.
"""

import hashlib
import json
import os
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from psycopg import sql
from sqlalchemy import Engine
from sqlalchemy.engine import URL

from pipeline.errors import EnvironmentFault, UserError
from pipeline.warehouse.database import faults_named
from pipeline.warehouse.tables.metadata import SCHEMA, STAGING_SCHEMA

MARK = b"SPECWATCH-BACKUP-1"
_TAIL = struct.Struct(f">Q{len(MARK)}s")  # length of the manifest, mark
_CHUNK = 1 << 20
# How a row is written as text decides its checksum: these settings are the same wherever it is computed.
SETTINGS = (
    "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; "
    "set local extra_float_digits = 1; set local bytea_output = 'hex'; set local search_path = pg_catalog; "
    "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0"
)
# The order of rows does not count; two rows of one kind do.
CHECKSUM = (
    "select count(*), coalesce(sum(('x' || substr(md5(t::text), 1, 16))::bit(64)::bigint::numeric), 0)::text "
    "from {table} as t"
)
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TableSum:
    """How many rows a table has, and what they add up to: the sum of 64 bits of the MD5 of each row's text."""

    table: str
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds."""

    revision: str  # of the schema
    server_version: str
    made_at: str  # ISO 8601, UTC
    tables: tuple[TableSum, ...]
    dump_bytes: int
    dump_sha256: str

    def as_json(self) -> dict[str, Any]:
        """Return the manifest as a JSON object."""
        return asdict(self)


def server_version(engine: Engine) -> tuple[int, str]:
    """Return the server's major version, and its version as it says it."""
    with faults_named(engine), engine.connect() as connection:
        said = str(connection.exec_driver_sql("show server_version").scalar_one())
        number = int(str(connection.exec_driver_sql("show server_version_num").scalar_one()))
    return number // 10_000, said


def write_backup(engine: Engine, path: Path, *, pg_dump: str, report: Report) -> Manifest:
    """Dump both schemas to `path` and append the manifest, computed from the same snapshot; `path` is ours to fill.

    Raises EnvironmentFault when pg_dump fails, with what it said.
    """
    with _snapshot(engine) as (connection, snapshot):
        there = connection.execute("select to_regclass(%s) is not null", (f"{SCHEMA}.alembic_version",)).fetchone()
        if there != (True,):
            message = "The warehouse has no tables: there is nothing to back up. Its owner runs: specwatch db migrate"
            raise UserError(message)
        revision = connection.execute("select version_num from warehouse.alembic_version").fetchone()
        version = connection.execute("show server_version").fetchone()
        argv = (
            *(pg_dump, "--format=custom", "--no-owner", "--no-privileges", "--lock-wait-timeout=60s"),
            *(f"--snapshot={snapshot}", f"--schema={SCHEMA}", f"--schema={STAGING_SCHEMA}", f"--file={path}"),
        )
        with _running(argv, engine.url) as process:
            tables = tuple(table_sums(connection, report=report))
            said = process.communicate()[1]
        if process.returncode != 0:
            message = f"pg_dump could not write {path}: {_last_line(said)}. Nothing was kept."
            raise EnvironmentFault(message)
    assert revision is not None  # noqa: S101 - a migrated warehouse has one
    assert version is not None  # noqa: S101 - a server says its version
    manifest = Manifest(
        revision=str(revision[0]),
        server_version=str(version[0]),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tables=tables,
        dump_bytes=path.stat().st_size,
        dump_sha256=_sha256(path, length=path.stat().st_size),
    )
    content = json.dumps(manifest.as_json()).encode()
    with path.open("ab") as file:
        file.write(content + _TAIL.pack(len(content), MARK))
        file.flush()
        os.fsync(file.fileno())
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a whole backup. Raises UserError when `path` is none, was cut short, or was changed."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            content = _manifest_bytes(file, size=size)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise UserError(message) from error
    if content is None:
        message = f"{path} is no whole backup of Specwatch: its end is missing. Copy it again; nothing was changed."
        raise UserError(message)
    document = json.loads(content)
    tables = tuple(TableSum(**entry) for entry in document.pop("tables"))
    manifest = Manifest(tables=tables, **document)
    if _sha256(path, length=manifest.dump_bytes) != manifest.dump_sha256:
        message = f"{path} is damaged: it is not what was backed up. Copy it again; nothing was changed."
        raise UserError(message)
    return manifest


def table_sums(connection: psycopg.Connection[Any], *, report: Report) -> Iterator[TableSum]:
    """Yield count and checksum of every table of ours, partitions through their parent."""
    found = connection.execute(
        "select n.nspname, c.relname from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid "
        "where n.nspname = any(%s) and c.relkind in ('r', 'p') and not c.relispartition order by 1, 2",
        ([SCHEMA, STAGING_SCHEMA],),
    ).fetchall()
    for schema, table in found:
        row = connection.execute(checksum_of(schema, table)).fetchone()
        assert row is not None  # noqa: S101 - an aggregate gives one row
        yield TableSum(f"{schema}.{table}", *row)
        report(f"{schema}.{table}: {row[0]} rows")


def checksum_of(schema: str, table: str) -> sql.Composed:
    """Return SQL that counts and sums the rows of a table."""
    return sql.SQL(CHECKSUM).format(table=sql.Identifier(schema, table))


def client_environment(url: URL) -> dict[str, str]:
    """Return the environment that leads Postgres's own programs to `url`: the password is in no command line."""
    named = {
        "PGHOST": url.host,
        "PGPORT": url.port,
        "PGUSER": url.username,
        "PGPASSWORD": url.password,
        "PGDATABASE": url.database,
        "PGCONNECT_TIMEOUT": 10,
        "PGAPPNAME": "specwatch",
    }
    tls = {f"PG{name.upper()}": value for name, value in url.query.items() if name.startswith("ssl")}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return inherited | {name: str(value) for name, value in (named | tls).items() if value is not None}


@contextmanager
def _snapshot(engine: Engine) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    with faults_named(engine), engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that open_warehouse takes
        with driver.transaction():
            driver.execute("set transaction isolation level repeatable read, read only")
            driver.execute(SETTINGS)
            row = driver.execute("select pg_export_snapshot()").fetchone()
            assert row is not None  # noqa: S101 - a function gives one row
            yield driver, str(row[0])


@contextmanager
def _running(argv: Sequence[str], url: URL) -> Iterator[subprocess.Popen[str]]:
    """Run a program of Postgres beside the block; end it when the block fails."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=client_environment(url),
        text=True,
    ) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            raise


def _manifest_bytes(file: BinaryIO, *, size: int) -> bytes | None:
    if size < _TAIL.size:
        return None
    file.seek(size - _TAIL.size)
    length, mark = _TAIL.unpack(file.read(_TAIL.size))
    if mark != MARK or length > size - _TAIL.size:
        return None
    file.seek(size - _TAIL.size - length)
    return file.read(length)


def _sha256(path: Path, *, length: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while length and (chunk := file.read(min(_CHUNK, length))):
            digest.update(chunk)
            length -= len(chunk)
    return digest.hexdigest()


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it gave no reason"])[-1]
