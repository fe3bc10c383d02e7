"""Postgres: tables, migrations, the COPY loader, queries. The only room that imports SQLAlchemy and psycopg."""
