"""The warehouse with three years of synthetic nights in it: loading, asking, a night from end to end, memory.

    python -m tests.bench.warehouse [--nights 1000] [--requests 20000000] [--only loading queries night memory]

The history is made once (minutes, and about 20 GB at full size) below SPECWATCH_BENCH_HOME, by default a folder in the
temporary directory, on an embedded server of its own, and kept for the next run.
"""

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import pandas as pd
from sqlalchemy import Engine, event, text

from pipeline.steps.ingesting import load_of
from pipeline.system import postgres
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.migrate import migrate
from pipeline.warehouse.publish import publish as publish_load
from tests.bench.bars import Bar, publish
from tests.bench.warehouse_history import SWEEP, History, Scale, history
from tests.bench.warehouse_night import Shape, write_night

TONIGHT = "synthetic-tonight"
RUNS = 3
ASKED = 20
ASKING_S = 6.0  # twice the bar, 20 times
REQUESTS_TIMES = 5  # a block of the night has 30,000 requests
SLOW_ROWS = 20_000  # enough for DataFrame.to_sql
PANDAS: dict[str, tuple[str, dict[str, Any]]] = {  # isolation level, and what is passed to DataFrame.to_sql
    "to_sql": ("READ COMMITTED", {}),
    "to_sql by 2,000": ("READ COMMITTED", {"method": "multi", "chunksize": 2_000}),  # a statement takes 65,535 values
    "to_sql autocommit": ("AUTOCOMMIT", {}),
}
FOR_ANALYSIS = {"paired_requests", "cell_measurements", "aa_pairs"}  # once a sweep, not while a page waits
INGEST = """
import sys, time
from pipeline import steps
for block in sys.argv[1:]:
    said = steps.ingest_block(block, report=lambda _: None)
    assert said["state"] == "published" and not said["quarantined"], said
    print(time.time(), flush=True)
"""
PEAK = """
import sys
from pathlib import Path
from pipeline.steps.ingesting import load_of
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
load, _ = load_of(Path(sys.argv[1]))
stage(open_warehouse(sys.argv[2]), load)
# of this program alone: getrusage keeps the peak of the process that started it
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def main() -> None:
    """Measure the bars that were asked for, by default all."""
    parts: dict[str, Callable[[History], list[Bar]]] = {
        "loading": loading,
        "queries": asking,
        "night": night,
        "memory": memory,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=Scale.nights)
    parser.add_argument("--requests", type=int, default=Scale.requests)
    parser.add_argument("--only", nargs="+", choices=[*parts, "nothing"], default=list(parts))
    arguments = parser.parse_args()
    home = Path(
        os.environ.get("SPECWATCH_BENCH_HOME") or Path(tempfile.gettempdir()) / f"specwatch-bench-{os.getuid()}"
    )
    with history(home, Scale(nights=arguments.nights, requests=arguments.requests)) as made:
        bars = [bar for part in arguments.only if part in parts for bar in parts[part](made)]
    if bars:
        publish("-".join(("warehouse", *arguments.only)) if arguments.only != list(parts) else "warehouse", bars)


def loading(made: History) -> list[Bar]:
    """A block with 150,000 requests: staged and published, against a bare COPY of its requests, and against pandas.

    Pandas is asked as most people ask it, and in the other ways it has; and beside them stands a COPY into the table
    without its keys, which is as fast as anything can be here.
    """
    block = next(path for path in sorted((made.runs / SWEEP).iterdir()) if path.is_dir())
    load = _larger(load_of(block)[0])
    rows = len(list(load.requests))
    with _database(made, "bench_prepared") as prepared:
        publish_load(prepared, stage(prepared, load))
        copied = _copied_out(prepared)
    ours, bare = [], []
    for _ in range(RUNS):
        with _database(made, "bench_ours") as engine:
            publish_load(engine, stage(engine, replace(load, requests=[])))
            ours.append(_timed(lambda engine=engine: publish_load(engine, stage(engine, load))))
        with _database(made, "bench_bare") as engine:
            publish_load(engine, stage(engine, replace(load, requests=[])))
            bare.append(_timed(partial(_copy_in, engine, copied)))
    rates = {"ours": rows / median(ours), "COPY": rows / median(bare)}
    with _database(made, "bench_pandas") as engine:
        publish_load(engine, stage(engine, replace(load, requests=[])))
        frame = _frame(engine, copied)
        for name, (level, how) in PANDAS.items():
            own = engine.execution_options(isolation_level=level)
            rates[name] = len(frame) / _timed(partial(_to_sql, own, frame, how))
            with engine.begin() as connection:
                connection.execute(text("truncate warehouse.request"))
    with _database(made, "bench_keyless") as engine:
        publish_load(engine, stage(engine, replace(load, requests=[])))
        with engine.begin() as connection:
            for name in ("request_measurement_fkey", "request_pkey"):
                connection.execute(text(f"alter table warehouse.request drop constraint {name}"))
        rates["COPY without keys"] = rows / _timed(partial(_copy_in, engine, copied))
    shown = {f"{name} rows/s": rate for name, rate in rates.items()}
    return [
        Bar("load requests: share of a bare COPY", rates["ours"] / rates["COPY"], "1", 0.6, False, RUNS, shown),
        Bar("load requests: times DataFrame.to_sql", rates["ours"] / rates["to_sql"], "1", 10, False, RUNS, shown),
    ]


def asking(made: History) -> list[Bar]:
    """Every question of a page, as often as 20 times, the first not counted; and the plans of all of them."""
    engine = open_warehouse(made.url)
    known = _known(engine)
    bars: list[Bar] = []
    scanned: dict[str, list[str]] = {}
    for name, ask in _questions(known):
        said: list[tuple[str, Any]] = []
        with _listening(engine, said):
            found = ask(engine)
        if name.partition("(")[0] not in FOR_ANALYSIS:
            times = _asked(partial(ask, engine))
            p95 = times[-(-len(times) * 95 // 100) - 1]
            rows = float(len(found))
            bars.append(
                Bar(
                    f"{name}: p95",
                    1e3 * p95,
                    "ms",
                    150,
                    n=len(times),
                    peers={"rows": rows, "median": 1e3 * median(times)},
                )
            )
        if scans := _sequential_scans(engine, said):
            scanned[name] = scans
    why = "; ".join(f"{name}: {', '.join(tables)}" for name, tables in scanned.items()) or None
    bars.append(Bar("questions that scan all of request", float(len(scanned)), "", 0, why=why))
    engine.dispose()
    return bars


def night(made: History) -> list[Bar]:
    """A night in a process of its own, Great Expectations imported there, into the full warehouse."""
    shape = replace(Shape(), last_day=Shape.last_day.replace(day=30))
    directory = write_night(made.runs, shape, sweep_id=TONIGHT)
    blocks = sorted(str(path) for path in directory.iterdir() if path.is_dir())
    took, peers = [], {}
    for _ in range(2):
        _forget(made, TONIGHT)
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-c", INGEST, *blocks],
            env=os.environ | {"WAREHOUSE_URL": made.url},
            capture_output=True,
            text=True,
            check=True,
        )
        ends = [float(line) for line in done.stdout.split()]
        took.append(time.time() - began)
        peers = {"first block": ends[0] - began, "last block": ends[-1] - ends[-2]}
    _forget(made, TONIGHT)
    name = f"a night ({shape.repetitions_a_night} repetitions, {shape.prompts * shape.repetitions_a_night} requests)"
    return [Bar(f"{name}: run directory to published", median(took), "s", 30, n=len(took), peers=peers)]


def memory(made: History) -> list[Bar]:
    """The loader's peak with four times the requests: in four times the windows, and in windows four times as long."""
    small = Shape(blocks=1, repetitions=1, prompts=200)
    shapes = {
        "1x": small,
        "4x windows": replace(small, repetitions=4),
        "4x requests a window": replace(small, prompts=800),
    }
    peaks = {}
    for name, shape in shapes.items():
        sweep = write_night(made.runs, shape, sweep_id=f"synthetic-{name.replace(' ', '-')}")
        block = next(path for path in sweep.iterdir() if path.is_dir())
        with _database(made, "bench_memory") as engine:
            url = engine.url.render_as_string(hide_password=False)
            done = subprocess.run(
                [sys.executable, "-c", PEAK, str(block), url], capture_output=True, text=True, check=True
            )
        peaks[name] = int(done.stdout) / 1024
    shown = {f"{name} MiB": peak for name, peak in peaks.items()}
    return [
        Bar(f"loader's peak memory, {name}", peaks[name] / peaks["1x"], "1", 1.1, peers=shown)
        for name in list(shapes)[1:]
    ]


def _larger(load: BlockLoad) -> BlockLoad:
    """Return the load with its requests several times over, in memory: reading them is another bar's."""
    requests = list(load.requests)
    more = [
        (key, replace(row, request_index=row.request_index + 1000 * times))
        for times in range(REQUESTS_TIMES)
        for key, row in requests
    ]
    return replace(load, requests=more)


@contextmanager
def _database(made: History, name: str) -> Iterator[Engine]:
    """Yield an engine on a migrated database that is dropped afterwards."""
    engine = open_warehouse(postgres.ensure_database(made.server, name))
    try:
        migrate(engine)
        yield engine
    finally:
        engine.dispose()
        server = open_warehouse(made.server).execution_options(isolation_level="AUTOCOMMIT")
        with server.connect() as connection:
            connection.execute(text(f"drop database {name}"))
        server.dispose()


def _copied_out(engine: Engine) -> list[bytes]:
    with (
        engine.connect() as connection,
        connection.connection.driver_connection.cursor() as cursor,
        cursor.copy("copy (select * from warehouse.request) to stdout") as copy,
    ):
        lines = [bytes(line) for line in copy]
    return [b"".join(lines[at : at + 500]) for at in range(0, len(lines), 500)]


def _copy_in(engine: Engine, copied: list[bytes]) -> None:
    with (
        engine.begin() as connection,
        connection.connection.driver_connection.cursor() as cursor,
        cursor.copy("copy warehouse.request from stdin") as copy,
    ):
        for block in copied:
            copy.write(block)


def _to_sql(engine: Engine, frame: pd.DataFrame, how: dict[str, Any]) -> None:
    frame.to_sql("request", engine, schema="warehouse", if_exists="append", index=False, **how)


def _frame(engine: Engine, copied: list[bytes]) -> pd.DataFrame:
    """Return some of the rows as pandas has them, from the database itself, which is left without requests."""
    _copy_in(engine, copied)
    with engine.begin() as connection:
        frame = pd.read_sql_query(text(f"select * from warehouse.request limit {SLOW_ROWS}"), connection)
        connection.execute(text("truncate warehouse.request"))
    return frame


def _asked(ask: Callable[[], Any]) -> list[float]:
    """Return sorted times of 20 calls, or of as many as fit into some seconds: what is that slow has missed its bar."""
    times: list[float] = []
    while len(times) < ASKED and sum(times) < ASKING_S:
        times.append(_timed(ask))
    return sorted(times)


def _timed(do: Callable[[], Any]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _known(engine: Engine) -> dict[str, Any]:
    """Return one value for each parameter that a question can have: what a page about last night would pass."""
    with engine.connect() as connection:
        row = connection.execute(
            text(
                "select m.sweep_id, c.series_id, c.cell_id, m.hardware_id, e.version as engine_version "
                "from warehouse.measurement as m inner join warehouse.cell as c on m.cell_id = c.cell_id "
                "inner join warehouse.engine as e on c.engine_id = e.engine_id "
                "where m.sweep_id = :sweep and c.cell_id <> c.baseline_cell_id limit 1"
            ),
            {"sweep": SWEEP},
        ).one()
        load_id = connection.execute(
            text("select load_id from warehouse.load where sweep_id = :sweep limit 1"), {"sweep": SWEEP}
        ).scalar_one()
    return {**row._mapping, "load_id": load_id}


def _questions(known: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[Engine], Any]]]:
    """Yield every question about one night, series or cell; then those of the pages, as they ask them."""
    for module in _modules():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ != module.__name__ or name.startswith("_") or name == "ask":
                continue
            parameters = list(inspect.signature(function).parameters.values())[1:]
            needed = {p.name: known[p.name] for p in parameters if p.default is p.empty}
            offered = [p.name for p in parameters if p.name in known and p.name != "hardware_id"]
            chosen = needed or {name: known[name] for name in offered[:1]}
            yield f"{name}({', '.join(chosen)})", partial(_ask, function, chosen)
    version = known["engine_version"]
    yield "latest_verdicts(scope), as the page asks", partial(_scoped, queries.latest_verdicts, engine_version=version)
    yield (
        "trend_by_version(scope), as the page asks",
        partial(_scoped, queries.trend_by_version, stands_for_release=True),
    )
    yield "latest_verdicts(newest), as the command asks", partial(queries.latest_verdicts, newest_engine=True)
    yield "night_summary(all), as the command asks", partial(queries.night_summary, limit=100_000)


@cache
def _scope(engine: Engine) -> dict[str, Any]:
    """Return the scope that a page begins with."""
    first = queries.scopes(engine).iloc[0]
    return {name: first[name] for name in ("hardware_id", "target", "weights", "acceptance")}


def _scoped(function: Callable[..., Any], engine: Engine, **filters: Any) -> Any:
    return function(engine, **_scope(engine), **filters)


def _modules() -> list[ModuleType]:
    from importlib import import_module
    from importlib.util import find_spec

    names = ("pipeline.warehouse.queries", "pipeline.warehouse.questions")
    return [import_module(name) for name in names if find_spec(name)]


def _ask(function: Callable[..., Any], chosen: Mapping[str, Any], engine: Engine) -> Any:
    return function(engine, **chosen)


@contextmanager
def _listening(engine: Engine, said: list[tuple[str, Any]]) -> Iterator[None]:
    def hear(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        said.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", hear)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", hear)


def _sequential_scans(engine: Engine, said: list[tuple[str, Any]]) -> list[str]:
    """Return the partitions of request that a question reads from end to end, by its plans."""
    found: set[str] = set()

    def walk(node: Mapping[str, Any]) -> None:
        if node["Node Type"] == "Seq Scan" and str(node["Relation Name"]).startswith("request"):
            found.add(str(node["Relation Name"]))
        for child in node.get("Plans", ()):
            walk(child)

    with engine.connect() as connection:
        for statement, parameters in said:
            if statement.lstrip().startswith(("select", "with")):
                plan = connection.exec_driver_sql(f"explain (format json) {statement}", parameters).scalar_one()
                walk(plan[0]["Plan"])
    return sorted(found)


def _forget(made: History, sweep_id: str) -> None:
    """Remove a sweep from every table, so that the next run finds the same warehouse."""
    engine = open_warehouse(made.url)
    with engine.begin() as connection:
        tables = connection.execute(
            text(
                "select distinct c.relname from pg_class as c inner join pg_attribute as a on a.attrelid = c.oid "
                "where c.relnamespace = 'warehouse'::regnamespace and c.relkind in ('r', 'p') "
                "and not c.relispartition and a.attname = 'sweep_id'"
            )
        ).scalars()
        connection.execute(text("set local session_replication_role = replica"))
        for table in list(tables):
            connection.execute(
                text(f"delete from warehouse.{table} where sweep_id = :sweep_id"), {"sweep_id": sweep_id}
            )
    engine.dispose()


if __name__ == "__main__":
    main()
