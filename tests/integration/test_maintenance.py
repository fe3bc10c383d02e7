"""Housekeeping: partitions ahead, abandoned loads, rows that must not exist."""

import json
import stat

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from pipeline import cli, steps
from pipeline.errors import EXIT_DONE, EXIT_GATE, GateFailed
from pipeline.settings import load_settings
from pipeline.steps.warehousing import warehouse_reader_url
from pipeline.system import postgres
from pipeline.system.layout import Layout
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish
from pipeline.warehouse.queries import hardware_measured
from tests.support import warehouse as build


@pytest.fixture
def engine(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    engine = open_warehouse(database_url)
    publish(engine, stage(engine, build.block_load()))
    return engine


def test_an_old_undecided_load_is_reaped_and_a_fresh_one_left(engine: Engine) -> None:
    old, fresh = (stage(engine, build.block_load()) for _ in range(2))
    with engine.begin() as connection:
        connection.execute(
            text("update warehouse.load set created_at = now() - interval '25 hours' where load_id = :old"),
            {"old": old},
        )
    said: list[str] = []
    done = steps.maintain_warehouse(report=said.append)
    assert done["reaped"] == [old]
    assert any(old in line for line in said)
    with engine.connect() as connection:
        left = connection.execute(text("select distinct load_id from staging.request")).scalars().all()
    assert left == [fresh]


def test_partitions_reach_beyond_this_month(engine: Engine) -> None:
    assert len(steps.maintain_warehouse(report=lambda _: None)["partitions"]) == 4


def test_rows_that_must_not_exist_are_named(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["db", "check"]) == EXIT_DONE
    with engine.begin() as connection:
        connection.execute(text("delete from warehouse.cell_outcome where start_index = 1"))
    with pytest.raises(GateFailed, match="orphan_measurement"):
        steps.maintain_warehouse(report=lambda _: None)
    capsys.readouterr()
    assert cli.main(["db", "check", "--json"]) == EXIT_GATE
    found = json.loads(capsys.readouterr().out)
    assert len(found["orphan_measurement"]["rows"]) == 2


def test_roles_are_made_from_the_command_line(engine: Engine, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "reader.password"
    secret.write_text("r\n")
    assert cli.main(["db", "roles", "--login", "reader", "--password-file", str(secret)]) == EXIT_DONE
    url = engine.url.set(username="specwatch_reader", password=secret.read_text().strip())
    with open_warehouse(url.render_as_string(hide_password=False)).connect() as connection:
        assert connection.execute(text("select count(*) from warehouse.latest_verdicts")).scalar_one() == 1


@pytest.mark.xdist_group("default-ports")
def test_pages_get_an_address_of_the_embedded_warehouse_that_may_only_read(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    settings = load_settings()
    try:
        url = warehouse_reader_url(settings)
        assert warehouse_reader_url(settings) == url
        assert stat.S_IMODE((settings.home / "postgres.reader_password").stat().st_mode) == 0o600
        reader = open_warehouse(url)
        assert hardware_measured(reader) == []
        with reader.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
            connection.execute(text("select 1 from warehouse.request"))
        reader.dispose()
    finally:
        postgres.stop(Layout(settings.home).postgres)
