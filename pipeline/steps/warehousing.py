"""Which warehouse: the one of WAREHOUSE_URL, or the embedded one, started and migrated when it does not run."""

import os
import secrets
from urllib.parse import quote, urlsplit

from pipeline.settings import Settings
from pipeline.system import postgres
from pipeline.system.layout import Layout
from pipeline.system.services import WAREHOUSE_DATABASE
from pipeline.warehouse import roles
from pipeline.warehouse.checks import Fault, find_faults
from pipeline.warehouse.database import Warehouse, open_warehouse
from pipeline.warehouse.migrate import migrate, require_current


def warehouse_url(settings: Settings) -> str:
    """Return the address of the warehouse; without WAREHOUSE_URL, start the embedded one if need be."""
    if settings.warehouse_url:
        return settings.warehouse_url
    layout = Layout(settings.home)
    layout.make()
    server = postgres.start(layout.postgres, port=settings.postgres_port)
    return postgres.ensure_database(server, WAREHOUSE_DATABASE)


def migrate_warehouse(url: str) -> None:
    """Bring the warehouse at `url` to this release's schema and views."""
    migrate(open_warehouse(url))


def make_roles(settings: Settings, *, login: roles.Role | None, password: str | None) -> roles.Refused | None:
    """Make the roles of the warehouse, and let `login` log in with `password`; return why not where that is refused."""
    engine, _ = open_migrated(settings)
    refused = roles.make_roles(engine)
    if refused is None and login and password:
        roles.allow_login(engine, login, password=password)
    return refused


def warehouse_reader_url(settings: Settings) -> str:
    """Return an address of the warehouse that may only read its views, for pages.

    For the embedded one; its password is made once and lies in SPECWATCH_HOME. For one of yours WAREHOUSE_READER_URL,
    or WAREHOUSE_URL as it is: who may log in there is its owner's to say.
    """
    if settings.warehouse_reader_url:
        return settings.warehouse_reader_url
    _, url = open_migrated(settings)
    file = settings.home / "postgres.reader_password"
    if not file.exists():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(secrets.token_urlsafe(24) + "\n")
    password = file.read_text(encoding="utf-8").strip()
    if make_roles(settings, login="reader", password=password) is not None:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{roles.name_of('reader')}:{quote(password, safe='')}@{host}").geturl()


def check_warehouse(settings: Settings) -> list[Fault]:
    """Return the checks of sql/checks that found rows."""
    engine, _ = open_migrated(settings)
    return find_faults(engine)


def open_migrated(settings: Settings) -> tuple[Warehouse, str]:
    """Return an engine on the warehouse, at this release's schema, and its address.

    A warehouse given by WAREHOUSE_URL is migrated by its owner (`specwatch db migrate`), not in passing.
    """
    url = warehouse_url(settings)
    engine = open_warehouse(url)
    if settings.warehouse_url:
        require_current(engine)
    else:
        migrate(engine)
    return engine, url
