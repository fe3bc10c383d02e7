"""Pages without data: a sentence and what to run, on both pages; no stack trace, no password."""

from collections.abc import Callable

import pytest
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.roles import allow_login, make_roles
from tests.dashboard.conftest import TREND, said
from tests.dashboard.sweeps import put_sweep

Open = Callable[..., AppTest]
ROLE = "nobody_reader"
pages = pytest.mark.parametrize("page", [None, TREND], ids=["verdict", "trend"])


@pages
def test_an_empty_warehouse_says_what_to_run(app: Open, database_url: str, page: str | None) -> None:
    test = app(database_url, page=page)
    assert not test.exception
    assert "Nothing was measured yet." in said(test)
    assert "`make demo`" in said(test)
    assert "`specwatch ingest PATH`" in said(test)


@pages
def test_a_database_that_is_down_is_named_without_its_password(app: Open, page: str | None) -> None:
    test = app("postgresql://reader:s3cret@127.0.0.1:1/warehouse", page=page)
    assert not test.exception
    assert "The warehouse does not answer." in said(test)
    assert "`specwatch up`" in said(test)
    assert "127.0.0.1:1/warehouse" in said(test)
    assert "s3cret" not in said(test)


@pages
def test_an_unmigrated_database_says_to_migrate(app: Open, postgres_server: str, page: str | None) -> None:
    test = app(postgres_server, page=page)
    assert not test.exception
    assert "`specwatch db migrate`" in said(test)


@pages
def test_without_a_warehouse_the_page_says_how_to_name_one(app: Open, page: str | None) -> None:
    test = app(None, page=page)
    assert not test.exception
    assert "`WAREHOUSE_URL`" in said(test)


def test_an_address_that_is_none_is_not_printed(app: Open) -> None:
    test = app("mysql://reader:s3cret@host/db")
    assert not test.exception
    assert "Postgres" in said(test)
    assert "s3cret" not in said(test)


def test_a_user_without_privilege_is_told_what_is_needed(app: Open, database_url: str) -> None:
    engine = open_warehouse(database_url)
    with engine.begin() as connection:
        connection.execute(text(f"drop role if exists {ROLE}"))
        connection.execute(text(f"create role {ROLE} login password '{ROLE}'"))
    url = engine.url.set(username=ROLE, password=ROLE).render_as_string(hide_password=False)
    engine.dispose()
    test = app(url)
    assert not test.exception
    assert "SELECT on the views" in said(test)


def test_the_page_works_again_once_data_is_there(app: Open, database_url: str) -> None:
    down = app("postgresql://reader@127.0.0.1:1/warehouse")
    assert down.error
    put_sweep(database_url)
    assert not app(database_url).error


@pages
def test_pages_show_all_that_they_show_to_a_login_that_may_only_read(
    app: Open, database_url: str, monkeypatch: pytest.MonkeyPatch, page: str | None
) -> None:
    put_sweep(database_url)
    engine = open_warehouse(database_url)
    make_roles(engine)
    allow_login(engine, "reader", password=ROLE)
    reader = engine.url.set(username="specwatch_reader", password=ROLE).render_as_string(hide_password=False)
    engine.dispose()
    monkeypatch.setenv("WAREHOUSE_READER_URL", reader)
    test = app("postgresql://nobody@127.0.0.1:1/warehouse", page=page)
    assert not test.exception
    assert not test.error
    assert len(test.get("vega_lite_chart"))
