"""Migrations, comments and views on a real Postgres."""

from collections.abc import Iterator

import pytest
from alembic import command
from sqlalchemy import Engine, text

from pipeline.domain.catalogue import CATALOGUE
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import alembic_config, apply_views, migrate, view_files
from pipeline.warehouse.tables import Measurement


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_warehouse(database_url)
    yield engine
    engine.dispose()


def test_models_and_migrations_agree(engine: Engine) -> None:
    with engine.begin() as connection:
        command.check(alembic_config(connection))


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    assert migrate(engine) == migrate(engine)


def test_two_migrators_at_once_wait_for_each_other(postgres_server: str, database_url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    engine = open_warehouse(database_url)
    with engine.begin() as connection:
        connection.execute(text("drop schema warehouse cascade"))
        connection.execute(text("drop schema staging cascade"))
    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(migrate, [engine, engine]))) == 1
    engine.dispose()


def test_a_view_whose_columns_changed_is_made_again(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("drop view warehouse.night_summary"))
        connection.execute(text("create view warehouse.night_summary as select 1 as other"))
        apply_views(connection)
        columns = connection.execute(text("select * from warehouse.night_summary")).keys()
    assert "worst_aa_log_ratio" in columns


def test_a_view_of_someone_else_on_ours_survives_a_second_migration(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("create view public.mine as select sweep_id from warehouse.verdicts"))
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(text("select count(*) from public.mine")).scalar_one() == 0


def test_every_table_view_and_column_has_a_comment(engine: Engine) -> None:
    silent = text(
        "select c.relname, a.attname from pg_class as c "
        "left join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped "
        "where c.relnamespace in ('warehouse'::regnamespace, 'staging'::regnamespace) "
        "and c.relkind in ('r', 'p', 'v') and c.relname <> 'alembic_version' "
        "and (obj_description(c.oid) is null or (a.attnum is not null and col_description(c.oid, a.attnum) is null))"
    )
    with engine.connect() as connection:
        assert connection.execute(silent).all() == []


def test_there_is_a_view_for_every_view_file(engine: Engine) -> None:
    with engine.connect() as connection:
        found = connection.execute(text("select viewname from pg_views where schemaname = 'warehouse'")).scalars()
        assert set(found) == {path.stem.partition("_")[2] for path in view_files()}


def test_every_instant_has_a_time_zone_and_no_key_is_nullable(engine: Engine) -> None:
    naive = text(
        "select table_name, column_name from information_schema.columns "
        "where table_schema in ('warehouse', 'staging') and data_type = 'timestamp without time zone'"
    )
    with engine.connect() as connection:
        assert connection.execute(naive).all() == []


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_every_metric_has_its_column(metric) -> None:
    column = Measurement.table().columns[metric.name]
    assert str(column.type) == ("BIGINT" if metric.kind == "count" else "DOUBLE")
    assert column.nullable == (metric.undefined != "never")
    assert metric.unit in column.comment


def test_there_is_no_column_that_is_no_metric() -> None:
    key = {"sweep_id", "block_id", "start_index", "attempt", "cell_id", "repetition"}
    others = {"position", "hardware_id", "started_at", "faults"}
    columns = {column.name for column in Measurement.table().columns}
    assert columns - key - others == {metric.name for metric in CATALOGUE}
