"""Great Expectations on the warehouse: an ephemeral context, no files, no telemetry, no noise."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.errors import EnvironmentFault

if TYPE_CHECKING:
    from great_expectations.datasource.fluent.postgres_datasource import PostgresDatasource


@contextmanager
def warehouse_source(url: str) -> "Iterator[PostgresDatasource]":
    """Yield the warehouse as a data source of an ephemeral context; close its connections."""
    import great_expectations
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.datasource.fluent.interfaces import TestConnectionError

    context = great_expectations.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    try:
        datasource = context.data_sources.add_postgres("warehouse", connection_string=_connection_string(url))
    except TestConnectionError:
        message = (
            f"The warehouse at {url.rpartition('@')[2].partition('?')[0]} cannot be reached for validation. "
            "Start the embedded one with `specwatch db up`, or check WAREHOUSE_URL; the load can be ingested again."
        )
        raise EnvironmentFault(message) from None  # the cause's text holds the password
    try:
        yield datasource
    finally:
        datasource.get_execution_engine().close()
        datasource.get_engine().dispose()  # it tested the connection through an engine of its own


def _connection_string(url: str) -> str:
    """Return `url` for psycopg 3; a `$` would be taken for a variable by Great Expectations."""
    return "postgresql+psycopg://" + url.partition("://")[2].replace("$", "%24")


@contextmanager
def quiet() -> Iterator[None]:
    """Import and run Great Expectations without telemetry, log lines, or warnings turned into errors."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "False")
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
