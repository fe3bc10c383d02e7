"""A real Postgres for tests: one server a worker, one migrated template on it, databases copied from the template."""

import itertools
from collections.abc import Iterator

import pytest
from sqlalchemy import text

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
