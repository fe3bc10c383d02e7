"""The same on the embedded Postgres 18 and on Debian's 15, as a login that owns its database and is no superuser."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, make_url, text

from pipeline.errors import EnvironmentFault
from pipeline.system import postgres
from pipeline.warehouse import queries, questions
from pipeline.warehouse.checks import find_faults
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import migrate
from pipeline.warehouse.publish import publish
from pipeline.warehouse.roles import allow_login, make_roles, name_of
from tests.support import warehouse as build
from tests.support.postgres import FAST

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
ARM = build.cell().cell_id
WORD = "a"  # the password of both logins

pytestmark = pytest.mark.xdist_group("default-ports")  # servers of their own choose a port as a person's does


@pytest.fixture(scope="module", params=["18", "15"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a server of each version, as its superuser; its own, because roles are the server's."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "15":
            if not DEBIAN_15.is_dir():
                pytest.skip("Debian's Postgres 15 is not here: apt-get install postgresql-15")
            patch.setattr(postgres, "_binary", lambda name: DEBIAN_15 / name)
        data = tmp_path_factory.mktemp(f"postgres-{request.param}") / "data"
        yield postgres.start(data, options=FAST)
        postgres.stop(data)


@pytest.fixture
def admin(server: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owned(server: str, admin: "psycopg.Connection[tuple[object, ...]]") -> Iterator[str]:
    """URL of a database that the login `analyst` owns, as that login."""
    admin.execute(f"create role analyst login password '{WORD}'")
    admin.execute("create database owned owner analyst")
    yield login(server, "analyst")
    admin.execute("drop database owned with (force)")
    for (role,) in admin.execute("select rolname from pg_roles where rolname like 'specwatch\\_%'").fetchall():
        admin.execute(f"drop owned by {role}")
        admin.execute(f"drop role {role}")
    admin.execute("drop role analyst")


def login(server: str, name: str, *, password: str | None = WORD) -> str:
    url = make_url(server).set(database="owned", username=name)._replace(password=password)
    return url.render_as_string(hide_password=False)


@pytest.fixture
def engine(owned: str) -> Iterator[Engine]:
    engine = open_warehouse(owned)
    yield engine
    engine.dispose()


def test_everything_works_as_an_owner_that_is_no_superuser(engine: Engine) -> None:
    migrate(engine)
    publish(engine, stage(engine, build.block_load()))
    publish(engine, stage(engine, build.block_load()))
    write_derived(engine, "s1", speedups=[build.speedup(ARM)], verdicts=[build.verdict(ARM)])
    assert queries.latest_verdicts(engine)["verdict"].tolist() == ["worth_it"]
    assert questions.break_even(engine)["found"].tolist() == ["one concurrency measured"]
    assert questions.confounders(engine, "s1")["fact"].tolist() == ["async_scheduling"]
    assert len(questions.acceptance_profile(engine)) == 4
    assert find_faults(engine) == []
    migrate(engine)


def test_roles_are_made_by_a_login_that_may(
    engine: Engine, server: str, admin: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    migrate(engine)
    refused = make_roles(engine)
    assert refused is not None
    assert "permission denied" in refused.why
    admin.execute("alter role analyst createrole")
    assert make_roles(engine) is None
    allow_login(engine, "reader", password=WORD)
    migrate(engine)
    publish(engine, stage(engine, build.block_load()))
    reader = open_warehouse(login(server, name_of("reader")))
    assert len(queries.latest_verdicts(reader)) == 1
    with reader.connect() as connection, pytest.raises(Exception, match="permission denied for table request"):
        connection.execute(text("select 1 from warehouse.request"))
    reader.dispose()


def test_roles_that_an_administrator_made_by_the_sql_are_taken_over(engine: Engine, server: str) -> None:
    migrate(engine)
    refused = make_roles(engine)
    assert refused is not None
    with psycopg.connect(make_url(server).set(database="owned").render_as_string(hide_password=False)) as admin:
        admin.execute(refused.script)
        admin.execute("grant specwatch_owner to analyst")
    migrate(engine)
    publish(engine, stage(engine, build.block_load()))
    assert len(queries.latest_verdicts(engine)) == 1


def test_tls_is_asked_for_as_the_url_says(owned: str) -> None:
    for question in ("sslmode=require", "sslmode=verify-full&sslrootcert=/no/such/file.pem"):
        engine = open_warehouse(f"{owned}?{question}")
        with pytest.raises(EnvironmentFault, match=r"SSL|root certificate"):
            engine.connect()
        engine.dispose()


def test_a_password_may_lie_in_a_pgpass_file(
    owned: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:analyst:{WORD}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    engine = open_warehouse(login(server, "analyst", password=None))
    with engine.connect() as connection:
        assert connection.execute(text("select current_user")).scalar_one() == "analyst"
    engine.dispose()
