"""What retention removes, and what it never touches."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from pipeline.cli import main
from pipeline.errors import EnvironmentFault
from pipeline.steps.analyzing import analyze_sweep
from pipeline.steps.retaining import retain
from pipeline.warehouse import retention
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish, quarantine_load
from pipeline.warehouse.retention import Limits, apply, past_their_time
from tests.support import warehouse as build

JANUARY = datetime(2026, 1, 20, tzinfo=UTC)  # the month of every sweep here
AFTER = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(days=180)  # the first moment at which January is past its time
PUBLISHED = (
    "sweep",
    "block",
    "server_start",
    "cell_outcome",
    "measurement",
    "acceptance_position",
    "speedup",
    "verdict",
)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A warehouse with two nights in January 2026, analyzed as far as a test needs."""
    engine = open_warehouse(database_url)
    for night in (1, 31):
        of = build.sweep(f"s{night}", day=night)
        publish(engine, stage(engine, build.block_load(build.block(of=of))))
    yield engine
    engine.dispose()


def counts(engine: Engine, *tables: str) -> dict[str, int]:
    with engine.connect() as connection:
        return {name: connection.execute(text(f"select count(*) from {name}")).scalar_one() for name in tables}


def every_count(engine: Engine) -> dict[str, int]:
    return counts(engine, *(f"warehouse.{name}" for name in (*PUBLISHED, "request", "load")), "staging.request")


def run(engine: Engine, now: datetime) -> retention.Retention:
    return apply(engine, limits=Limits(), now=now, report=lambda _: None)


def test_a_month_goes_as_a_whole_when_all_of_it_is_past_its_time(engine: Engine) -> None:
    before = every_count(engine)
    partly = run(engine, AFTER - timedelta(days=1))  # the night of January 1 is, that of the 31st is not
    assert partly.months == ()
    assert every_count(engine) == before
    (month,) = run(engine, AFTER).months
    assert (month.partition, month.until, month.requests) == ("request_2026_01", date(2026, 2, 1), 2 * 12)
    assert every_count(engine) == before | {"warehouse.request": 0}


def test_measurements_and_what_was_found_in_them_stay(engine: Engine) -> None:
    views = ("verdicts", "noise_floor", "trend_by_version", "night_summary", "cell_status")
    with engine.connect() as connection:
        before = {v: connection.execute(text(f"select * from warehouse.{v} order by 1, 2, 3")).all() for v in views}
    run(engine, AFTER)
    with engine.connect() as connection:
        after = {v: connection.execute(text(f"select * from warehouse.{v} order by 1, 2, 3")).all() for v in views}
    assert after == before


def test_a_second_run_finds_nothing(engine: Engine) -> None:
    run(engine, AFTER)
    again = run(engine, AFTER)
    assert (again.months, again.undecided_loads, again.staged_rows, again.replaced_loads) == ((), 0, 0, 0)


def test_a_dry_run_says_the_same_and_changes_nothing(engine: Engine) -> None:
    before = every_count(engine)
    said = past_their_time(engine, limits=Limits(), now=AFTER)
    assert every_count(engine) == before
    assert said.months == run(engine, AFTER).months


def test_the_months_ahead_have_their_partitions(engine: Engine) -> None:
    assert run(engine, JANUARY).partitions_ahead[-1] == "request_2026_04"


def test_a_night_whose_month_was_dropped_can_be_ingested_again(engine: Engine) -> None:
    run(engine, AFTER)
    publish(engine, stage(engine, build.block_load(build.block(of=build.sweep("s1", day=1)))))
    assert counts(engine, "warehouse.request") == {"warehouse.request": 12}


def test_loads_that_were_replaced_or_never_decided_go_and_the_latest_of_a_block_stays(engine: Engine) -> None:
    first = build.block(of=build.sweep("s1", day=1))
    publish(engine, stage(engine, build.block_load(first)))  # replaces the load of the fixture
    stage(engine, build.block_load(first))  # its loader died
    quarantine_load(engine, stage(engine, build.block_load(build.block(of=build.sweep("s2", day=2)))), "nothing holds")
    now = datetime.now(UTC) + timedelta(days=200)
    with engine.begin() as connection:
        connection.execute(text("update warehouse.load set created_at = created_at - interval '2 days'"))
    found = past_their_time(engine, limits=Limits(), now=now)
    assert (found.undecided_loads, found.replaced_loads) == (1, 1)
    assert found.staged_rows > 12  # the quarantined load's requests and more
    done = run(engine, now)
    assert (done.undecided_loads, done.replaced_loads, done.staged_rows) == (1, 1, found.staged_rows)
    assert counts(engine, "staging.request", "staging.document") == {"staging.request": 0, "staging.document": 0}
    with engine.connect() as connection:
        states = connection.execute(text("select state, count(*) from warehouse.load group by state")).all()
    assert dict(map(tuple, states)) == {"published": 2, "quarantined": 1, "abandoned": 1}


def test_who_reads_for_long_is_not_waited_for(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "LOCK_TIMEOUT", "50ms")
    monkeypatch.setattr(retention, "LOCK_TRIES", 1)
    monkeypatch.setattr(retention.time, "sleep", lambda _: None)
    with engine.connect() as reader:
        reader.execute(text("select count(*) from warehouse.request"))
        with pytest.raises(EnvironmentFault, match="could not be dropped"):
            run(engine, AFTER)
    assert len(run(engine, AFTER).months) == 1


def test_analyzing_again_leaves_verdicts_whose_requests_are_gone(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    analyze_sweep("s1", margin=None, report=lambda _: None)
    before = counts(engine, "warehouse.verdict", "warehouse.speedup")
    run(engine, AFTER)
    assert analyze_sweep("s1", margin=None, report=lambda _: None)["verdicts"] == 0
    assert counts(engine, "warehouse.verdict", "warehouse.speedup") == before
    assert before["warehouse.verdict"] == 1


def test_the_command_line_counts_before_it_removes(
    engine: Engine,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    assert main(["db", "retention", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["requests"]) == (True, 24)
    assert main(["db", "retention"]) == 0
    assert "gone: 24 requests in 1 whole months" in capsys.readouterr().out
    assert retain(requests_days=180, dry_run=True, report=lambda _: None)["requests"] == 0
    assert main(["db", "retention", "--requests-days", "5"]) == 2
