"""Least privilege, by trying: what each role may, and that everything else is refused by the server."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from pipeline.warehouse import queries, questions
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import migrate, require_current
from pipeline.warehouse.publish import publish, reap
from pipeline.warehouse.roles import allow_login, make_roles, name_of
from tests.support import warehouse as build

PASSWORD = "it's-not-a-secret"  # noqa: S105  # pragma: allowlist secret - made up for the test
ARM = build.cell().cell_id
NIGHT = "insert into warehouse.annotation (sweep_id, remark) values ('s1', 'the fan was loud')"
FORBIDDEN = {
    "reader": [
        "select * from warehouse.request",
        "select * from warehouse.request_2026_01",
        "select * from warehouse.measurement",
        "select * from warehouse.server_start",
        "select * from staging.document",
        "insert into warehouse.engine values ('e', '1', 'cpu', '1')",
        "update warehouse.cell set seed = 1",
        "delete from warehouse.sweep",
        "truncate warehouse.sweep",
        "create table warehouse.mine (n int)",
        "create view warehouse.mine as select 1",
        "drop view warehouse.verdicts",
        "select warehouse.ensure_request_partition(date '2030-01-01')",
        NIGHT,
        "insert into warehouse.quarantine_decision (load_id, cell_id, decision) values ('l', 'c', 'upheld')",
    ],
    "annotator": [
        "select * from warehouse.request",
        "select * from staging.request",
        "update warehouse.annotation set remark = 'never said'",
        "delete from warehouse.annotation",
        "insert into warehouse.annotation (remark, author) values ('x', 'somebody else')",
        "insert into warehouse.annotation (remark, created_at) values ('x', now() - interval '1 day')",
        "delete from warehouse.quarantine_decision",
        "update warehouse.verdict set verdict = 'worth_it'",
        "insert into warehouse.sweep values ('s', 'm', 'h', now(), 'test', current_date)",
    ],
    "writer": [
        "create table warehouse.mine (n int)",
        "alter table warehouse.request add column mine int",
        "drop table warehouse.request",
        "truncate warehouse.measurement",
        "drop view warehouse.verdicts",
        "update warehouse.alembic_version set version_num = '0001'",
        "delete from warehouse.annotation",
        "create role mine",
        "alter role specwatch_reader login",
    ],
    "owner": ["create role mine", "alter role specwatch_reader login"],
}
CASES = [(role, statement) for role, statements in FORBIDDEN.items() for statement in statements]


@pytest.fixture(scope="module")
def url(warehouse_url: str) -> str:
    engine = open_warehouse(warehouse_url)
    publish(engine, stage(engine, build.block_load()))
    write_derived(engine, "s1", speedups=[build.speedup(ARM)], verdicts=[build.verdict(ARM)])
    assert make_roles(engine) is None
    assert make_roles(engine) is None
    for role in FORBIDDEN:
        allow_login(engine, role, password=PASSWORD)
    engine.dispose()
    return warehouse_url


def engine_of(url: str, role: str) -> Engine:
    owner = open_warehouse(url)
    return open_warehouse(
        owner.url.set(username=name_of(role), password=PASSWORD).render_as_string(hide_password=False)
    )


@pytest.fixture
def as_role(url: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine = engine_of(url, request.param)
    yield engine
    engine.dispose()


def refused(engine: Engine, statement: str) -> bool:
    with engine.connect() as connection, pytest.raises(ProgrammingError) as caught:
        connection.execute(text(statement))
    return isinstance(caught.value.orig, psycopg.errors.InsufficientPrivilege)


@pytest.mark.parametrize(("as_role", "statement"), CASES, indirect=["as_role"])
def test_what_is_not_its_work_is_refused(as_role: Engine, statement: str) -> None:
    assert refused(as_role, statement)


@pytest.mark.parametrize("as_role", ["reader", "annotator"], indirect=True)
def test_a_reader_gets_an_answer_to_every_question_of_a_page(as_role: Engine) -> None:
    require_current(as_role)
    frames = [
        queries.scopes(as_role),
        queries.latest_verdicts(as_role),
        queries.sweep_verdicts(as_role, "s1"),
        queries.trend_by_version(as_role),
        queries.night_summary(as_role),
        queries.noise_floor(as_role),
        questions.acceptance_profile(as_role, sweep_id="s1"),
        questions.break_even(as_role),
        questions.cost(as_role),
        questions.vram_tax(as_role),
    ]
    assert all(len(frame) for frame in frames)
    assert questions.incidents(as_role).empty
    assert questions.data_quality(as_role).empty
    assert queries.hardware_measured(as_role)[0]["kind"] == "cpu"


@pytest.mark.parametrize("as_role", ["annotator"], indirect=True)
def test_an_annotator_signs_with_its_own_name(as_role: Engine) -> None:
    with as_role.begin() as connection:
        connection.execute(text(NIGHT))
        said = connection.execute(text("select author, remark from warehouse.annotation")).one()
    assert tuple(said) == ("specwatch_annotator", "the fan was loud")


@pytest.mark.parametrize("as_role", ["annotator"], indirect=True)
def test_an_annotator_decides_about_a_load(as_role: Engine) -> None:
    with as_role.begin() as connection:
        load_id = connection.execute(text("select load_id from warehouse.data_quality")).scalars().first()
        assert load_id is None
    with pytest.raises(Exception, match="quarantine_decision_load_fkey"), as_role.begin() as connection:
        connection.execute(
            text(
                "insert into warehouse.quarantine_decision (load_id, cell_id, decision) "
                "select 'no such load', cell_id, 'upheld' from warehouse.cell limit 1"
            )
        )


@pytest.mark.parametrize("as_role", ["writer"], indirect=True)
def test_a_writer_loads_a_month_that_was_not_there_and_analyzes(as_role: Engine) -> None:
    require_current(as_role)
    later = build.sweep("s9")
    later = build.replace(later, planned_at="2031-07-01T00:00:00+00:00")
    publish(as_role, stage(as_role, build.block_load(build.block(of=later))))
    write_derived(as_role, "s9", speedups=[build.speedup(ARM, sweep_id="s9")], verdicts=[])
    reap(as_role, older_than=timedelta(0))
    with as_role.connect() as connection:
        found = connection.execute(text("select count(*) from warehouse.request where sweep_id = 's9'")).scalar_one()
    assert found == 12


@pytest.mark.parametrize("as_role", ["owner"], indirect=True)
def test_the_owner_migrates_and_keeps_the_grants(as_role: Engine, url: str) -> None:
    with as_role.begin() as connection:
        connection.execute(text("drop view warehouse.night_summary"))
    migrate(as_role)
    reader = engine_of(url, "reader")
    assert len(queries.night_summary(reader)) >= 1
    reader.dispose()


def test_without_the_right_to_make_roles_the_sql_is_handed_over(postgres_server: str, url: str) -> None:
    server = open_warehouse(url)
    with server.begin() as connection:
        connection.execute(text("drop role if exists plain_login"))
        connection.execute(text(f"create role plain_login login password '{PASSWORD.replace(chr(39), chr(39) * 2)}'"))
    plain = open_warehouse(
        server.url.set(username="plain_login", password=PASSWORD).render_as_string(hide_password=False)
    )
    refusal = make_roles(plain)
    assert refusal is not None
    assert refusal.why
    assert "create role %I nologin" in refusal.script
    plain.dispose()
    with server.begin() as connection:
        connection.execute(text("drop role plain_login"))
    server.dispose()


def test_a_password_reaches_no_log_and_no_repr(url: str) -> None:
    engine = engine_of(url, "reader")
    assert PASSWORD not in f"{engine!r} {engine.url}"
    with pytest.raises(Exception) as caught, engine.connect() as connection:  # noqa: PT011 - the text is what is looked at
        connection.execute(text("select nothing"))
    assert PASSWORD not in str(caught.value)
    engine.dispose()
