"""Fixtures every test may ask for: a real Postgres, one server a test session, one database a worker."""

from tests.support.postgres import database_url, postgres_server, template_url, warehouse_url

__all__ = ["database_url", "postgres_server", "template_url", "warehouse_url"]
