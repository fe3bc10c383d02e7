"""Partitions of `request`: a month of the sweep's date each. There is no default one: a missing month is an error."""

from collections.abc import Iterable
from datetime import date

from sqlalchemy import Connection, Engine, text

MONTHS_AHEAD = 3


def ensure_partitions(connection: Connection, days: Iterable[date]) -> list[str]:
    """Make the partition of each day's month unless it is there; return their names, in order of the days.

    Commit soon: until then the others wait who make one, and so do writers of measurements.
    """
    statement = text("select warehouse.ensure_request_partition(:day)")
    return [str(connection.execute(statement, {"day": day}).scalar_one()) for day in days]


def make_partitions_ahead(engine: Engine, *, today: date) -> list[str]:
    """Make the partitions of this month and the next ones; return their names."""
    with engine.begin() as connection:
        return ensure_partitions(connection, months_from(today))


def months_from(day: date, *, ahead: int = MONTHS_AHEAD) -> list[date]:
    """Return the first day of the month of `day` and of the `ahead` months after it."""
    first = day.year * 12 + day.month - 1
    return [date((first + n) // 12, (first + n) % 12 + 1, 1) for n in range(ahead + 1)]
