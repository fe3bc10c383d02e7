"""A real Postgres for tests: one server a worker, one migrated database on it whose changes are rolled back.

What must be seen by a second connection (Great Expectations, the command line, two loaders) gets a copy of its own.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, StaticPool, create_engine, text

from pipeline.system import postgres
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import migrate
from tests.support.worker_port import worker_port

FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")  # a test's database need not survive
_number = itertools.count()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of an embedded server of this test process; stopped at the end. Under xdist each worker has its own."""
    data_dir = tmp_path_factory.mktemp("postgres") / "data"
    yield postgres.start(data_dir, port=worker_port(), options=FAST)
    postgres.stop(data_dir)


@pytest.fixture(scope="session")
def template_url(postgres_server: str) -> str:
    """URL of a migrated, empty database that others are copied from."""
    url = postgres.ensure_database(postgres_server, "template_warehouse")
    engine = open_warehouse(url)
    migrate(engine)
    engine.dispose()
    return url


def copy_of_template(server_url: str) -> str:
    """Make a fresh migrated database on the server and return its URL (about 50 ms)."""
    name = f"test_{next(_number)}"
    engine = open_warehouse(server_url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"create database {name} template template_warehouse"))
    engine.dispose()
    return server_url.rpartition("/")[0] + f"/{name}"


@pytest.fixture(scope="module")
def warehouse_url(postgres_server: str, template_url: str) -> str:
    """URL of a migrated database that the tests of a module share."""
    return copy_of_template(postgres_server)


@pytest.fixture
def database_url(postgres_server: str, template_url: str) -> str:
    """URL of a migrated, empty database of one test."""
    return copy_of_template(postgres_server)


@pytest.fixture(scope="session")
def shared_url(postgres_server: str, template_url: str) -> str:
    """URL of the one migrated database that all rolled back tests of a worker use."""
    return copy_of_template(postgres_server)


@pytest.fixture
def rolled_back(shared_url: str) -> Iterator[Engine]:
    """A migrated, empty warehouse whose every commit is a savepoint of one transaction that is rolled back at the end.

    All connections of this engine are one connection, so a test that needs two takes `database_url` instead.
    """
    with psycopg.connect(shared_url.replace("+psycopg", ""), autocommit=True) as held:
        held.execute("set timezone to 'UTC'")
        held.execute("begin")
        engine = create_engine(
            "postgresql+psycopg://", creator=lambda: held, poolclass=StaticPool, pool_reset_on_return=None
        )
        _turn_transactions_into_savepoints(engine)
        yield engine
        held.execute("rollback")


def _turn_transactions_into_savepoints(engine: Engine) -> None:
    open_ones: list[str] = []
    number = itertools.count()

    def begin(dbapi: Any) -> None:
        open_ones.append(f"transaction_{next(number)}")
        dbapi.execute(f"savepoint {open_ones[-1]}")

    def commit(dbapi: Any) -> None:
        dbapi.execute(f"release savepoint {open_ones.pop()}")

    def rollback(dbapi: Any) -> None:
        if open_ones:  # SQLAlchemy rolls back once before any transaction, when it gets to know the server
            name = open_ones.pop()
            dbapi.execute(f"rollback to savepoint {name}")
            dbapi.execute(f"release savepoint {name}")

    engine.dialect.do_begin = begin  # type: ignore[method-assign]  # the one place where a transaction begins and ends
    engine.dialect.do_commit = commit  # type: ignore[method-assign]  # the same
    engine.dialect.do_rollback = rollback  # type: ignore[method-assign]  # the same
