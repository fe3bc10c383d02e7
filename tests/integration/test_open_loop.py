"""A cell of an open loop in the warehouse: sent at a rate, with no number of requests in flight."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from pipeline.domain.block import Block
from pipeline.domain.cell import Cell
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_warehouse(database_url)
    yield engine
    engine.dispose()


def opened(cell: Cell) -> Cell:
    return replace(cell, concurrency=None, arrival="poisson", request_rate=2.5, prompt_tokens=4096, guided=True)


def open_block() -> Block:
    planned = build.block()
    starts = tuple(replace(start, cells=tuple(map(opened, start.cells))) for start in planned.starts)
    return replace(planned, starts=starts)


def test_the_views_show_the_load_the_length_and_guided_decoding(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load(open_block())))
    (trend,) = queries.trend_by_version(engine).to_dict("records")
    (latest,) = queries.latest_verdicts(engine).to_dict("records")
    (status, _) = queries.cell_status(engine, "s1")
    for row in (trend, latest, status):
        load = {name: row[name] for name in ("arrival", "request_rate", "prompt_tokens", "guided")}
        assert load == {"arrival": "poisson", "request_rate": 2.5, "prompt_tokens": 4096, "guided": True}
        assert row["concurrency"] is None
    assert queries.noise_floor(engine)["arrival"].tolist() == ["poisson"]


def test_the_analysis_reads_the_nominal_length_beside_the_measured_one(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load(open_block())))
    row = queries.cell_measurements(engine, "s1")[0]
    assert (row["prompt_tokens"], row["nominal_prompt_tokens"], row["concurrency"]) == (8, 4096, None)


def test_a_prompt_set_keeps_what_it_states(engine: Engine) -> None:
    stated = replace(
        build.WORKLOAD, temperature=0.8, output_tokens=64, prompt_tokens=1024, source="hub:org/name", revision="abc"
    )
    publish(engine, stage(engine, replace(build.block_load(), workloads=(stated,))))
    with engine.connect() as connection:
        columns = "temperature, output_tokens, output_rule, prompt_tokens, source, revision"
        row = connection.execute(text(f"select {columns} from warehouse.workload")).one()
    assert tuple(row) == (0.8, 64, stated.output_rule, 1024, "hub:org/name", "abc")


@pytest.mark.parametrize(
    "wrong",
    ["concurrency = null", "request_rate = 1", "arrival = 'poisson'", "arrival = 'sometimes', concurrency = null"],
)
def test_a_load_that_is_neither_loop_is_refused(engine: Engine, wrong: str) -> None:
    publish(engine, stage(engine, build.block_load()))
    with engine.begin() as connection, pytest.raises(IntegrityError, match="cell_load_check"):
        connection.execute(text(f"update warehouse.cell set {wrong}"))
