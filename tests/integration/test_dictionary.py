"""docs/warehouse.md and docs/queries: they say what the database says, and every query runs, as a reader."""

from collections.abc import Iterator
from math import log

import pytest
from sqlalchemy import Engine, text

from pipeline.domain.engine import Engine as VllmRelease
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import view_files
from pipeline.warehouse.publish import publish
from pipeline.warehouse.roles import make_roles
from tests.support import warehouse as build
from tools.warehouse_page import QUERIES, columns_of

OLD = VllmRelease(version="0.9.2", platform="cpu")
EXAMPLES = sorted(QUERIES.glob("*.sql"))
METRICS = ("latency_speedup", "decode_speedup", "throughput_speedup")


@pytest.fixture(scope="module")
def engine(warehouse_url: str) -> Iterator[Engine]:
    """Two nights, a release each, at two concurrencies; the newer one has half the speedup."""
    engine = open_warehouse(warehouse_url)
    for sweep_id, day, release, factor in (("old", 1, OLD, 1.0), ("new", 2, build.ENGINE, 0.5)):
        planned = build.block(of=build.sweep(sweep_id, day=day), engine=release, concurrencies=(1, 4))
        publish(engine, stage(engine, build.block_load(planned, closing_factor=1.1)))
        estimates = {build.cell(engine=release, concurrency=c).cell_id: factor * e for c, e in ((1, 3.0), (4, 1.6))}
        write_derived(
            engine,
            sweep_id,
            speedups=[
                build.speedup(c, sweep_id=sweep_id, metric=m, estimate=e) for c, e in estimates.items() for m in METRICS
            ],
            verdicts=[build.verdict(c, sweep_id=sweep_id, estimate=e) for c, e in estimates.items()],
        )
    assert make_roles(engine) is None
    yield engine
    engine.dispose()


def rows(engine: Engine, number: int) -> list[dict[str, object]]:
    with engine.connect() as connection:
        connection.execute(text("set local role specwatch_reader"))
        return [dict(row) for row in connection.execute(text(EXAMPLES[number - 1].read_text())).mappings()]


def test_there_are_ten() -> None:
    assert [path.name[:2] for path in EXAMPLES] == [f"{n:02d}" for n in range(1, 11)]


@pytest.mark.parametrize("number", range(1, 11))
def test_an_example_runs_as_a_reader(engine: Engine, number: int) -> None:
    rows(engine, number)


def test_the_examples_answer_what_they_ask(engine: Engine) -> None:
    assert [float(row["speedup"]) for row in rows(engine, 1)] == [pytest.approx(1.5), pytest.approx(0.8)]
    moved = rows(engine, 2)
    assert {(row["version_before"], row["engine_version"]) for row in moved} == {("0.9.2", "0.32.0")}
    assert len(moved) == 2
    found = {row["engine_version"]: row["found"] for row in rows(engine, 3)}
    assert found == {"0.9.2": "above the measured range", "0.32.0": "within the measured range"}
    # by position 5, 4, 2 and 1 of 6 drafts: 2 of 4 is half, 1 of 2 is half, none is below
    assert {row["first_position_below_half"] for row in rows(engine, 4)} == {None}
    assert rows(engine, 5)[0]["worst"] == pytest.approx(log(1.1))
    assert rows(engine, 6)[0]["kv_cache_tokens_lost"] is None
    assert rows(engine, 7) == []
    assert rows(engine, 8) == []
    assert {row["differs"] for row in rows(engine, 9)} == {"async_scheduling: true -> false"}
    assert [row["worst_noise"] for row in rows(engine, 10)] == [pytest.approx(0.1)] * 2


@pytest.mark.parametrize("path", view_files(), ids=lambda path: path.stem)
def test_the_page_names_the_columns_that_a_view_has(engine: Engine, path) -> None:
    name = path.stem.partition("_")[2]
    with engine.connect() as connection:
        assert columns_of(path) == list(connection.execute(text(f"select * from warehouse.{name} limit 0")).keys())
