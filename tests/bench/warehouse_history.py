"""Three years of synthetic nights in a database of its own, kept between runs.

One night goes the whole way: written as run directories, ingested, validated, analyzed. The database then copies it to
every earlier night by itself: ids of that night and release, times moved and stretched. Only the latest nights get
requests, as retention leaves them. Everything says `synthetic` in its matrix and hardware.
"""

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from pipeline import steps
from pipeline.system import postgres
from pipeline.warehouse.database import Warehouse, open_warehouse
from pipeline.warehouse.migrate import migrate
from pipeline.warehouse.partitions import ensure_partitions
from pipeline.warehouse.rows import version_sort
from pipeline.warehouse.summaries import mark_latest
from tests.bench.warehouse_night import Shape, write_night
from tests.support.postgres import FAST
from tests.support.worker_port import worker_port

SWEEP = "synthetic-bench"
RELEASES = 36
NIGHTS_AT_ONCE = 20
BULK = (*FAST, "maintenance_work_mem=512MB", "max_wal_size=8GB", "wal_level=minimal", "max_wal_senders=0")
IDS = {  # what a copied row has in place of an id
    "sweep_id": "v.sweep_id",
    "cell_id": "own.new_id",
    "engine_id": "r.engine_id",
    "engine_version": "r.version",
    "load_id": "md5(t.load_id || v.n)",
    "block_id": "regexp_replace(t.block_id, '-0\\.[0-9.]+-', '-' || r.version || '-')",
}
NIGHT_SQL = """
create temporary table night as
select
    n,
    cast(:nights - n as int) as days,
    'synthetic-bench-' || lpad(n::text, 4, '0') as sweep_id,
    'v' || (n - 1) * :releases / :nights as release,
    1 + 0.03 * sin(n / 9.0) + 0.01 * random() as factor,
    1 + 0.05 * sin(n / 30.0) as gain
from generate_series(1, :nights) as n
"""


@dataclass(frozen=True)
class Scale:
    """How much history there is."""

    nights: int = 1000
    requests: int = 20_000_000
    night: Shape = field(default_factory=Shape)


@dataclass(frozen=True)
class History:
    """The server and its database."""

    server: str
    url: str
    runs: Path


@contextmanager
def history(home: Path, scale: Scale) -> Iterator[History]:
    """Yield a running server with the history in it, made first if need be; stop it afterwards."""
    home.mkdir(parents=True, exist_ok=True)
    write_night(home / "runs", scale.night, sweep_id=SWEEP)
    data = home / "postgres"
    done = home / "history.json"
    wanted = json.loads(json.dumps(asdict(scale), default=str))
    try:
        if not done.exists() or json.loads(done.read_text()) != wanted:
            done.unlink(missing_ok=True)
            url = _database(postgres.start(data, port=worker_port(), options=BULK), scale)
            _fill(url, home / "runs" / SWEEP, scale)
            postgres.stop(data)
            done.write_text(json.dumps(wanted))
        server = postgres.start(data, port=worker_port())
        url = server.rpartition("/")[0] + f"/{_name(scale)}"
        engine = open_warehouse(url)
        migrate(engine)  # a schema that is newer than the history
        engine.dispose()
        yield History(server, url, home / "runs")
    finally:
        postgres.stop(data)


def _name(scale: Scale) -> str:
    return f"synthetic_{scale.nights}_{scale.requests}"


def _database(server: str, scale: Scale) -> str:
    return postgres.ensure_database(server, _name(scale))


def _fill(url: str, night: Path, scale: Scale) -> None:
    engine = open_warehouse(url)
    migrate(engine)
    os.environ["WAREHOUSE_URL"] = url
    if not _has(engine, "warehouse.verdict"):
        for block in sorted(path for path in night.iterdir() if path.is_dir()):
            said = steps.ingest_block(str(block), report=print)
            assert said["state"] == "published", said
            assert not said["quarantined"], said
        steps.analyze_sweep(SWEEP, report=print)
    with engine.connect() as connection:
        _prepare(connection, scale)
        for first in range(1, scale.nights, NIGHTS_AT_ONCE):
            last = min(first + NIGHTS_AT_ONCE, scale.nights) - 1  # the last night is the one that went the whole way
            _copy_nights(connection, first, last)
            print(f"nights {first}-{last} of {scale.nights}", flush=True)
        every_cell = list(connection.execute(text("select cell_id from warehouse.cell")).scalars())
        mark_latest(connection, every_cell)
        connection.commit()
        a_prompt = scale.night.repetitions_a_night  # requests a night for each prompt of a repetition
        left = scale.requests // a_prompt - scale.night.prompts  # the last night has its own
        for n in reversed(range(1, scale.nights)):
            if left > 0:
                _copy_requests(connection, n, index_below=min(left, scale.night.prompts))
            left -= scale.night.prompts
    engine.dispose()
    autocommit = open_warehouse(url).execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        connection.execute(text("set statement_timeout = 0"))
        for name in _materialised(connection):
            connection.execute(text(f"refresh materialized view {name}"))
        connection.execute(text("vacuum (analyze)"))
    autocommit.dispose()


def _prepare(connection: Connection, scale: Scale) -> None:
    """Make the nights, the releases and the ids of every cell in them."""
    rng = random.Random(1)  # noqa: S311 - a draw, no secret
    for statement in (
        "set statement_timeout = 0",
        "set idle_in_transaction_session_timeout = 0",
        "set session_replication_role = replica",  # what is copied has its parents
        "set synchronous_commit = off",
    ):
        connection.execute(text(statement))
    connection.execute(text("select setseed(0.5)"))
    connection.execute(text(NIGHT_SQL), {"nights": scale.nights, "releases": RELEASES})
    connection.execute(text("create temporary table release (name text primary key, version text, engine_id text)"))
    now = scale.night.version
    minor = int(now.split(".")[1])
    for index in range(RELEASES):
        version = f"0.{minor - RELEASES + 1 + index}.{0 if index == RELEASES - 1 else rng.randrange(2)}"
        named = {"name": f"v{index}", "version": version, "id": f"{version}-cuda", "sort": version_sort(version)}
        connection.execute(text("insert into release values (:name, :version, :id)"), named)
        connection.execute(
            text(
                "insert into warehouse.engine (engine_id, version, platform, version_sort) "
                "values (:id, :version, 'cuda', :sort) on conflict do nothing"
            ),
            named,
        )
    connection.execute(
        text(
            "create temporary table cell_of as select r.name as release, c.cell_id, "
            f"case when r.version = '{now}' then c.cell_id else left(md5(c.cell_id || r.version), 12) end as new_id "
            "from warehouse.cell as c cross join release as r "
            f"where c.engine_id = '{now}-cuda'"
        )
    )
    connection.execute(text("create unique index on cell_of (release, cell_id)"))
    columns = _columns(connection, "cell")
    changed = {"cell_id": "own.new_id", "baseline_cell_id": "base.new_id", "engine_id": "r.engine_id"}
    connection.execute(
        text(
            f"insert into warehouse.cell ({', '.join(columns)}) "
            f"select {', '.join(changed.get(name, f't.{name}') for name in columns)} from warehouse.cell as t "
            f"inner join cell_of as own on t.cell_id = own.cell_id inner join release as r on own.release = r.name "
            "inner join cell_of as base on t.baseline_cell_id = base.cell_id and base.release = r.name "
            "on conflict do nothing"
        )
    )
    connection.execute(text("analyze cell_of; analyze night; analyze release"))
    connection.commit()


def _copy_nights(connection: Connection, first: int, last: int) -> None:
    """Copy everything but requests to nights `first` to `last`, in one transaction; nothing when they are there."""
    there = text("select 1 from warehouse.sweep as s inner join night as v on s.sweep_id = v.sweep_id where v.n = :n")
    if connection.execute(there, {"n": last}).first() is None:
        for table in _tables(connection):
            connection.execute(text(_copy(connection, table, "v.n between :first and :last")), _bound(first, last))
    connection.commit()


def _copy_requests(connection: Connection, n: int, *, index_below: int) -> None:
    """Copy the first requests of each repetition to night `n`, unless it has some."""
    of_night = {"n": n}
    day = connection.execute(
        text("select sweep_date from warehouse.sweep where sweep_id = (select sweep_id from night where n = :n)"),
        of_night,
    ).scalar_one()
    there = text(
        "select 1 from warehouse.request where sweep_date = :day "
        "and sweep_id = (select sweep_id from night where n = :n) limit 1"
    )
    if connection.execute(there, of_night | {"day": day}).first() is None:
        ensure_partitions(connection, [day])
        which = f"v.n between :first and :last and t.request_index < {index_below}"
        connection.execute(text(_copy(connection, "request", which)), _bound(n, n))
        print(f"requests of night {n}", flush=True)
    connection.commit()


def _copy(connection: Connection, table: str, which: str) -> str:
    columns = _columns(connection, table)
    by_cell = "cell_id" in columns
    joined = " inner join cell_of as own on t.cell_id = own.cell_id and own.release = v.release" if by_cell else ""
    if "sweep_id" in columns:
        of = f"t.sweep_id = '{SWEEP}'"
    else:
        of = f"t.load_id in (select load_id from warehouse.load where sweep_id = '{SWEEP}')"
    return (
        f"insert into warehouse.{table} ({', '.join(columns)}) "
        f"select {', '.join(_expression(table, name, kind) for name, kind in columns.items())} "
        f"from warehouse.{table} as t cross join night as v inner join release as r on v.release = r.name{joined} "
        f"where {of} and {which}"
    )


def _expression(table: str, name: str, kind: str) -> str:
    """Return what a column of another night holds."""
    moved = {"date": "t.{} - v.days", "timestamp with time zone": "t.{} - v.days * interval '1 day'"}
    if name in IDS:
        return IDS[name]
    if kind == "double precision":
        return f"t.{name}{_stretch(table, name)}"
    return moved.get(kind, "t.{}").format(name)


def _stretch(table: str, name: str) -> str:
    """Return by how much a figure differs from night to night."""
    if table in ("speedup", "verdict"):
        return " * v.gain" if name in ("estimate", "lower", "upper") else ""
    if table == "request":
        return " * v.factor * (0.95 + 0.1 * random())" if name in ("ttft_ms", "e2e_latency_ms", "tpot_ms") else ""
    if name.endswith("_per_s"):
        return " / v.factor"
    return " * v.factor" if name.endswith(("_ms", "window_s")) else ""


def _tables(connection: Connection) -> list[str]:
    """Return every table that says of which sweep or load its rows are, but requests."""
    return list(
        connection.execute(
            text(
                "select distinct c.relname from pg_class as c inner join pg_attribute as a on a.attrelid = c.oid "
                "where c.relnamespace = 'warehouse'::regnamespace and c.relkind in ('r', 'p') "
                "and not c.relispartition and c.relname <> 'request' and a.attname in ('sweep_id', 'load_id') "
                "order by 1"
            )
        ).scalars()
    )


def _columns(connection: Connection, table: str) -> dict[str, str]:
    """Return the columns that are written, with their types."""
    found = connection.execute(
        text(
            "select attname, format_type(atttypid, atttypmod) from pg_attribute "
            "where attrelid = cast('warehouse.' || :table as regclass) and attnum > 0 and not attisdropped "
            "and attgenerated = '' and attidentity = '' order by attnum"
        ),
        {"table": table},
    )
    return {str(name): str(kind) for name, kind in found}


def _materialised(connection: Connection) -> list[str]:
    return list(
        connection.execute(
            text(
                "select c.oid::regclass::text from pg_class as c "
                "where c.relnamespace = 'warehouse'::regnamespace and c.relkind = 'm' order by c.oid"
            )
        ).scalars()
    )


def _has(engine: Warehouse, table: str) -> bool:
    with engine.connect() as connection:
        return connection.execute(text(f"select 1 from {table} limit 1")).first() is not None


def _bound(first: int, last: int) -> dict[str, Any]:
    return {"first": first, "last": last}
