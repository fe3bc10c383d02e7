"""A SQLAlchemy engine for a warehouse URL, and what a database error means to a person."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import psycopg
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from pipeline.errors import EnvironmentFault, UserError

CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 300
# What is asked lies in memory or on an SSD: a planner that fears random reads takes half a night for one row of it, and
# compiling a question takes longer than answering it.
PLANNER = "-c random_page_cost=1.1 -c jit=off"
DRIVER = "postgresql+psycopg"
ACCEPTED = {"postgres", "postgresql", DRIVER}
OUT_OF_REACH = ("08", "28", "3D", "57P")  # SQLSTATE classes: connection, login, no such database, shut down
OUT_OF_RESOURCES = "53"


Warehouse: TypeAlias = Engine  # what other rooms hold and hand back, without knowing SQLAlchemy


def open_warehouse(url: str) -> Engine:
    """Return an engine for `url` (postgres://, postgresql:// or postgresql+psycopg://); TLS parameters pass through.

    Connects on first use. Database faults then raise EnvironmentFault, whose text holds no password. Raises UserError
    when `url` is not one.
    """
    engine = create_engine(
        _normalise(url),
        poolclass=NullPool,  # connections are few and long; kept ones would outlive their step, or a database that left
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": "specwatch",
            "options": f"-c timezone=UTC -c statement_timeout={STATEMENT_TIMEOUT_S}s"
            f" -c idle_in_transaction_session_timeout=60s {PLANNER}",
        },
    )

    @event.listens_for(engine, "handle_error")
    def _name_the_fault(context: ExceptionContext) -> BaseException | None:
        return fault(engine.url, context.original_exception)

    return engine


def fault(url: URL, error: BaseException) -> EnvironmentFault | None:
    """Return what `error` means to a person, or None when the database is reachable and has room: then it is ours."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    where = f"{url.host}:{url.port or 5432}/{url.database}"
    said = (str(error).strip().splitlines() or ["no reason given"])[0]
    state = error.sqlstate
    if state is None or state.startswith(OUT_OF_REACH):
        return EnvironmentFault(
            f"The warehouse at {where} cannot be reached: {said}. "
            "Start the embedded one with `specwatch db up`, or check WAREHOUSE_URL; then run the step again."
        )
    if state.startswith(OUT_OF_RESOURCES):
        return EnvironmentFault(f"The warehouse at {where} is out of room: {said}. Free some, then run again.")
    return None


@contextmanager
def faults_named(engine: Engine) -> Iterator[None]:
    """Turn psycopg's own errors inside the block, as COPY raises them, into EnvironmentFault where they are one."""
    try:
        yield
    except psycopg.Error as error:
        if named := fault(engine.url, error):
            raise named from error
        raise


def _normalise(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        shape = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"  # pragma: allowlist secret - the shape of one, not one
        message = f"WAREHOUSE_URL cannot be read. Write it as {shape}."
        raise UserError(message) from None
    if parsed.drivername not in ACCEPTED:
        message = f"WAREHOUSE_URL names {parsed.drivername}; the warehouse is Postgres: use postgresql://."
        raise UserError(message)
    return parsed.set(drivername=DRIVER)
