"""What a person reads when the database is not there."""

import socket

import pytest

from pipeline.errors import EnvironmentFault, UserError
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import stage
from pipeline.warehouse.migrate import migrate
from tests.support import warehouse as build

SECRET = "do-not-show-this"  # noqa: S105  # pragma: allowlist secret - made up for the test


@pytest.fixture
def nobody_listens() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"postgresql://specwatch:{SECRET}@127.0.0.1:{probe.getsockname()[1]}/specwatch"


@pytest.mark.parametrize(
    "ask",
    [migrate, queries.latest_verdicts, queries.hardware_measured, lambda engine: stage(engine, build.block_load())],
    ids=["migrate", "frame", "records", "stage"],
)
def test_a_database_that_is_down_is_an_environment_fault_without_the_password(nobody_listens: str, ask) -> None:
    with pytest.raises(EnvironmentFault, match=r"cannot be reached.*WAREHOUSE_URL") as caught:
        ask(open_warehouse(nobody_listens))
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.getrepr(style="short"))


def test_a_wrong_password_is_an_environment_fault(postgres_server: str) -> None:
    head, _, tail = postgres_server.rpartition("@")
    wrong = f"{head.rpartition(':')[0]}:{SECRET}@{tail}"
    with pytest.raises(EnvironmentFault, match="password authentication failed") as caught:
        queries.hardware_measured(open_warehouse(wrong))
    assert SECRET not in str(caught.value)


def test_a_missing_database_is_an_environment_fault(postgres_server: str) -> None:
    missing = postgres_server.rpartition("/")[0] + "/nothing_here"
    with pytest.raises(EnvironmentFault, match='database "nothing_here" does not exist'):
        queries.hardware_measured(open_warehouse(missing))


def test_a_database_that_dies_while_copying_is_an_environment_fault(database_url: str) -> None:
    from sqlalchemy import text

    engine, other = open_warehouse(database_url), open_warehouse(database_url)

    def requests():
        with other.connect() as connection:
            connection.execute(
                text(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where datname = current_database() and pid <> pg_backend_pid()"
                )
            )
        yield build.keys(build.block())[0][1], build.request(0)

    with pytest.raises(EnvironmentFault, match="cannot be reached"):
        stage(engine, build.block_load(requests=requests()))
    with other.connect() as connection:
        assert connection.execute(text("select count(*) from warehouse.load")).scalar_one() == 0
    engine.dispose()
    other.dispose()


@pytest.mark.parametrize("url", [f"mysql://u:{SECRET}@h/d", f"no url {SECRET}"])
def test_a_url_that_is_none_is_a_user_error_without_the_password(url: str) -> None:
    with pytest.raises(UserError, match="postgresql://") as caught:
        open_warehouse(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgres_is_accepted(database_url: str, scheme: str) -> None:
    engine = open_warehouse(scheme + "://" + database_url.partition("://")[2])
    assert queries.hardware_measured(engine) == []
    engine.dispose()
