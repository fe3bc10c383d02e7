"""Stage, publish, quarantine, reap: on a real Postgres."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from pipeline.domain.block import CellOutcome, SkippedCell
from pipeline.domain.measurement import RepetitionKey
from pipeline.domain.request import RequestRow
from pipeline.errors import EnvironmentFault, UserError
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish, quarantine_load, reap
from pipeline.warehouse.tables import METADATA
from tests.support import warehouse as build

ARM = build.cell().cell_id
BASE = build.cell(build.BASE).cell_id


@pytest.fixture
def engine(rolled_back: Engine) -> Engine:
    return rolled_back


def every_row(engine: Engine) -> dict[str, list[Any]]:
    """Return all rows of all published tables with the transaction that wrote them; loads come and go."""
    names = [table.name for table in METADATA.sorted_tables if table.schema == "warehouse" and table.name != "load"]
    with engine.connect() as connection:
        return {
            name: sorted(map(repr, connection.execute(text(f"select xmin::text, t::text from warehouse.{name} as t"))))
            for name in names
        }


def count(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return connection.execute(text(f"select count(*) from {table}")).scalar_one()


def test_a_published_block_is_all_there(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load()))
    counts = {name: count(engine, f"warehouse.{name}") for name in ("cell", "server_start", "measurement", "request")}
    assert counts == {"cell": 2, "server_start": 3, "measurement": 3 * 2, "request": 3 * 2 * 2}
    assert count(engine, "warehouse.acceptance_position") == 2 * 4
    assert count(engine, "staging.measurement") + count(engine, "staging.request") == 0


def test_telemetry_and_marks_come_with_their_measurement_and_go_with_it(engine: Engine) -> None:
    planned = build.block()
    load = build.block_load(planned)
    watched = replace(
        load,
        telemetry=tuple((key, build.telemetry_row(period)) for _, key in build.keys(planned) for period in range(2)),
        measurements=tuple(replace(m, faults=("throttled",)) for m in load.measurements),
    )
    publish(engine, stage(engine, watched))
    publish(engine, stage(engine, watched))
    assert count(engine, "warehouse.telemetry") == 3 * 2 * 2
    assert count(engine, "warehouse.measurement where faults = '[\"throttled\"]'") == 3 * 2
    assert count(engine, "warehouse.telemetry where power_mean_w is null and server_cpu_cores = 1.5") == 3 * 2 * 2
    publish(engine, stage(engine, watched), quarantined={ARM: "why"})
    assert count(engine, "warehouse.telemetry") == 2 * 2 * 2
    assert count(engine, "staging.telemetry") == 2 * 2


def test_the_same_block_twice_writes_no_row(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load()))
    before = every_row(engine)
    publish(engine, stage(engine, build.block_load()))
    assert every_row(engine) == before


def test_publishing_a_published_load_again_does_nothing(engine: Engine) -> None:
    load_id = stage(engine, build.block_load())
    publish(engine, load_id)
    before = every_row(engine)
    publish(engine, load_id)
    assert every_row(engine) == before


def test_a_staged_load_publishes_nothing(engine: Engine) -> None:
    stage(engine, build.block_load())
    assert not any(every_row(engine).values())


def test_an_abandoned_load_is_reaped_and_cannot_be_published(database_url: str) -> None:
    engine = open_warehouse(database_url)  # with commits: a load ages by the clock of its transaction
    load_id = stage(engine, build.block_load())
    assert reap(engine, older_than=timedelta(hours=1)) == []
    assert reap(engine, older_than=timedelta(0)) == [load_id]
    assert count(engine, "staging.request") + count(engine, "staging.document") == 0
    with pytest.raises(UserError, match="already abandoned"):
        publish(engine, load_id)
    assert not any(every_row(engine).values())


def test_a_loader_that_dies_while_reading_leaves_nothing(engine: Engine) -> None:
    def truncated() -> Iterator[tuple[RepetitionKey, RequestRow]]:
        yield build.keys(build.block())[0][1], build.request(0)
        raise OSError("truncated file")

    with pytest.raises(OSError, match="truncated"):
        stage(engine, build.block_load(requests=truncated()))
    assert count(engine, "warehouse.load") + count(engine, "staging.measurement") == 0


def test_a_quarantined_cell_is_a_row_with_its_reason_and_the_others_publish(engine: Engine) -> None:
    load_id = stage(engine, build.block_load())
    publish(engine, load_id, quarantined={ARM: "accepted_within_drafted"})
    arm, base = (next(c for c in queries.cell_status(engine, "s1") if c["cell_id"] == i) for i in (ARM, BASE))
    assert (arm["status"], arm["reason"]) == ("quarantined", "accepted_within_drafted")
    assert (base["status"], base["reason"]) == ("measured", None)
    assert {row["cell_id"] for row in queries.cell_measurements(engine, "s1")} == {BASE}
    assert count(engine, "staging.measurement") == 2


def test_a_cell_without_its_baseline_says_so(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load()), quarantined={BASE: "no_failed_requests"})
    arm = queries.sweep_verdicts(engine, "s1").iloc[0]
    assert arm["reason"] == "its baseline was quarantined: no_failed_requests"


def test_a_quarantined_load_publishes_no_measurement(engine: Engine) -> None:
    load_id = stage(engine, build.block_load())
    quarantine_load(engine, load_id, "repetitions_present")
    assert count(engine, "warehouse.measurement") == 0
    assert {(c["status"], c["reason"]) for c in queries.cell_status(engine, "s1")} == {
        ("quarantined", "repetitions_present")
    }
    assert count(engine, "staging.measurement") == 6


def test_quarantine_withdraws_what_was_published_and_concluded(engine: Engine) -> None:
    publish(engine, stage(engine, build.block_load()))
    write_derived(engine, "s1", speedups=[build.speedup(ARM)], verdicts=[build.verdict(ARM)])
    publish(engine, stage(engine, build.block_load()), quarantined={ARM: "found out later"})
    assert count(engine, "warehouse.verdict") + count(engine, "warehouse.speedup") == 0
    assert {row["cell_id"] for row in queries.cell_measurements(engine, "s1")} == {BASE}


def test_a_failed_start_and_a_skipped_cell_are_rows(engine: Engine) -> None:
    skipped = build.cell(replace(build.NGRAM, name="eagle3", method="eagle3"))
    planned = build.block(skipped=[SkippedCell(skipped, "eagle3 needs cuda")])
    load = build.block_load(planned)
    failed = CellOutcome(1, ARM, "failed", "the server ran out of memory", "out_of_memory")
    load = replace(
        load,
        outcomes=(*(o for o in load.outcomes if o.cell_id != ARM), failed),
        measurements=tuple(m for m in load.measurements if m.key.cell_id != ARM),
        acceptance=(),
        requests=[(key, row) for key, row in load.requests if key.cell_id != ARM],
    )
    publish(engine, stage(engine, load))
    found = queries.latest_verdicts(engine).set_index("method_name")
    assert found["status"].to_dict() == {"ngram-k4": "failed", "eagle3": "skipped"}
    assert found["reason"]["eagle3"] == "eagle3 needs cuda"
    assert found["verdict"].isna().all()
    assert found["repetitions"].to_dict() == {"ngram-k4": 0, "eagle3": 0}


def test_an_unknown_load_is_named(engine: Engine) -> None:
    with pytest.raises(UserError, match="Load nope is not known"):
        publish(engine, "nope")


def test_staged_rows_lost_in_a_crash_are_not_published_as_nothing(engine: Engine) -> None:
    load_id = stage(engine, build.block_load())
    with engine.begin() as connection:
        connection.execute(text("truncate staging.request"))
    with pytest.raises(EnvironmentFault, match="ingest the run directory again"):
        publish(engine, load_id)


def test_a_missing_prompt_set_is_named(engine: Engine) -> None:
    with pytest.raises(UserError, match="structured@"):
        stage(engine, build.block_load(workloads=()))


def test_nan_is_refused(engine: Engine) -> None:
    load = build.block_load()
    broken = replace(load.measurements[0], metrics=build.METRICS | {"tpot_mean_ms": float("nan")})
    with pytest.raises(ValueError, match="tpot_mean_ms"):
        stage(engine, replace(load, measurements=(broken,)))
