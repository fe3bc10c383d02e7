"""The warehouse's version: a newer one is refused, an older or empty one names who brings it up to date."""

import pytest
from sqlalchemy import text

from pipeline.errors import UserError
from pipeline.system import postgres
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.migrate import migrate, require_current


def test_a_migrated_warehouse_is_current(database_url: str) -> None:
    require_current(open_warehouse(database_url))


def test_an_empty_database_names_the_command(postgres_server: str) -> None:
    url = postgres.ensure_database(postgres_server, "empty_warehouse")
    with pytest.raises(UserError, match=r"the warehouse is empty, this release needs .*: specwatch db migrate"):
        require_current(open_warehouse(url))


@pytest.mark.parametrize("ask", [migrate, require_current])
def test_a_warehouse_of_a_newer_release_is_refused_and_left_as_it_is(database_url: str, ask) -> None:
    engine = open_warehouse(database_url)
    with engine.begin() as connection:
        connection.execute(text("update warehouse.alembic_version set version_num = '9999'"))
    with pytest.raises(UserError, match="revision 9999, which this release does not know: update Specwatch"):
        ask(engine)
    with engine.connect() as connection:
        assert connection.execute(text("select version_num from warehouse.alembic_version")).scalar() == "9999"
