"""Loaders as processes: beside each other, killed at any point, and given run directories that are not whole."""

import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from pipeline import steps
from pipeline.errors import UserError
from pipeline.settings import REPOSITORY
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build
from tests.support.loader import MID_COPY, load, load_of

WHOLE = {"block": 1, "measurement": 6, "acceptance_position": 8, "request": 12, "cell_outcome": 3}
SAMPLE = next((REPOSITORY / "samples").glob("h200-smoke-*"))


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_warehouse(database_url)
    yield engine
    engine.dispose()


def loader(url: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.loader", url, *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> None:
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint


def rows_of(engine: Engine, block_id: str) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(
                text(f"select count(*) from warehouse.{name} where block_id = :block_id"), {"block_id": block_id}
            ).scalar_one()
            for name in WHOLE
        }


def until_alone(engine: Engine) -> None:
    """Wait until the server has noticed that the killed loaders are gone."""
    others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    deadline = time.monotonic() + 30
    with engine.connect() as connection:
        while connection.execute(text(others)).scalar_one():
            assert time.monotonic() < deadline
            connection.rollback()
            time.sleep(0.01)


def test_two_processes_load_the_same_blocks_at_once(engine: Engine, database_url: str) -> None:
    blocks = [f"b{n}" for n in range(6)]
    first, second = loader(database_url, "whole", *blocks), loader(database_url, "whole", *reversed(blocks))
    finish(first)
    finish(second)
    assert [rows_of(engine, block_id) for block_id in blocks] == [WHOLE] * 6
    with engine.connect() as connection:
        states = connection.execute(text("select state, count(*) from warehouse.load group by state")).all()
    assert [tuple(row) for row in states] == [("published", 12)]


def test_a_loader_killed_at_any_point_leaves_all_or_nothing(engine: Engine, database_url: str) -> None:
    points = [MID_COPY, *(str(n) for n in range(1, 60, 3))]
    blocks = [f"b{number}" for number in range(len(points))]
    finish(loader(database_url, "killed", *map("=".join, zip(blocks, points, strict=True))))
    until_alone(engine)
    found = {block_id: rows_of(engine, block_id) for block_id in blocks}
    nothing = dict.fromkeys(WHOLE, 0)
    assert all(counts in (nothing, WHOLE) for counts in found.values()), found
    assert list(found.values()).count(nothing) > 5
    assert found[blocks[-1]] == WHOLE, "the last point lies beyond the end: raise the range"
    assert found["b0"] == nothing
    for block_id in blocks:
        load(engine, load_of(block_id))
    assert [rows_of(engine, block_id) for block_id in blocks] == [WHOLE] * len(blocks)


def test_what_an_earlier_load_had_and_this_one_lacks_is_gone(engine: Engine) -> None:
    whole = build.block_load()
    load(engine, whole)
    load(engine, build.replace(whole, requests=whole.requests[1:], acceptance=whole.acceptance[1:]))
    assert rows_of(engine, "b1") == WHOLE | {"request": 11, "acceptance_position": 7}


def test_rows_that_are_there_alike_are_not_even_locked(engine: Engine) -> None:
    load(engine, build.block_load())
    load(engine, build.block_load())
    with engine.connect() as connection:
        for name in (*WHOLE, "engine", "hardware", "method", "workload", "cell", "sweep", "server_start"):
            held = connection.execute(text(f"select count(*) from warehouse.{name} where xmax <> 0")).scalar_one()
            # a foreign key's share lock leaves its mark on the parent; the rows themselves are not written
            versions = connection.execute(text(f"select count(distinct xmin::text) from warehouse.{name}")).scalar_one()
            assert versions == 1, name
            assert held == 0 or name not in ("request", "acceptance_position", "cell_outcome"), name


def test_a_sweep_that_is_here_under_another_date_is_refused(engine: Engine) -> None:
    load(engine, build.block_load())
    other = build.block_load(build.block(of=build.sweep("s1", day=2)))
    with pytest.raises(UserError, match=r"s1 is in the warehouse as of 2026-01-01.*2026-01-02"):
        load(engine, other)
    assert rows_of(engine, "b1") == WHOLE


def test_memory_does_not_grow_with_the_requests(engine: Engine) -> None:
    key = build.keys(build.block())[0][1]

    def peak(requests: int) -> int:
        tracemalloc.start()
        stage(engine, build.block_load(requests=((key, build.request(index)) for index in range(requests))))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(8_000) < peak(2_000) + 2**18


@pytest.mark.parametrize(
    "name",
    [
        "block.json",
        "host.json",
        "workloads.json",
        "BLOCK.json",
        "start.json",
        "MANIFEST.json",
        "requests.jsonl.zst",
        "before.prom.zst",
        "after.prom.zst",
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.9], ids=["emptied", "cut short"])
def test_a_run_directory_that_is_not_whole_is_refused_by_the_file_and_leaves_no_row(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, share: float
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    sweep = Path(shutil.copytree(SAMPLE, tmp_path / SAMPLE.name))
    broken = min(sweep.glob(f"*/**/{name}"))
    block = next(path.parent for path in sweep.glob("*/block.json"))
    content = broken.read_bytes()
    broken.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UserError, match=name):
        steps.ingest_block(str(block), report=lambda _: None)
    with engine.connect() as connection:
        assert connection.execute(text("select count(*) from warehouse.load")).scalar_one() == 0


def test_publishing_waits_for_no_other_block(engine: Engine) -> None:
    """A second loader publishes while the first one's transaction is open: they share every dimension."""
    load(engine, load_of("b1"))
    second = stage(engine, load_of("b2"))
    with engine.begin() as connection:
        connection.execute(text("set local lock_timeout = '5s'"))
        connection.execute(text("select 1 from warehouse.sweep for key share"))
        publish(engine, second)
    assert rows_of(engine, "b2") == WHOLE
