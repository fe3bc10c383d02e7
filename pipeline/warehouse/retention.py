"""What is kept how long: requests by whole months, measurements for good, staged rows and old loads for a while.

Everything that is found is found without a lock, so that a dry run tells what a run would do and touches nothing.
"""
# ruff: noqa: S608 - the names put into statements are those of our own tables and partitions

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from pipeline.errors import EnvironmentFault
from pipeline.warehouse.partitions import ensure_partitions, months_from
from pipeline.warehouse.publish import reap
from pipeline.warehouse.tables import STAGED

UNDECIDED_FOR = timedelta(days=1)  # a load whose loader lives is decided within minutes
LOCK_TIMEOUT = "2s"  # who waits for a lock makes everyone behind it wait
LOCK_TRIES = 5
_MONTH = re.compile(r"request_(\d{4})_(\d{2})")
_UNTIL = re.compile(r"TO \('(\d{4}-\d{2}-\d{2})'\)")
_STAGING = ("document", *STAGED)
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many days each kind of row is kept."""

    requests_days: int = 180  # after the end of the month of the sweep
    quarantined_days: int = 90  # staged rows of what was quarantined, after it was
    loads_days: int = 180  # loads that a later one of their block replaced, and abandoned ones


@dataclass(frozen=True, slots=True)
class Month:
    """A partition of `request`, all of it past its time."""

    partition: str
    until: date  # the first day after it
    requests: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What is past its time, or what was removed."""

    months: tuple[Month, ...]
    undecided_loads: int
    staged_rows: int  # of loads quarantined long ago
    replaced_loads: int
    partitions_ahead: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self) | {"requests": sum(month.requests for month in self.months)}


def past_their_time(engine: Engine, *, limits: Limits, now: datetime) -> Retention:
    """Return what is past its time at `now`; changes nothing.

    A month of requests goes as a whole, when its last day is more than `requests_days` ago: rows of a month that is
    partly past its time stay until all of it is.
    """
    with engine.connect() as connection:
        months = _months(connection, before=now.date() - timedelta(days=limits.requests_days))
        undecided = connection.execute(
            text("select count(*) from warehouse.load where state = 'staged' and created_at < :before"),
            {"before": now - UNDECIDED_FOR},
        ).scalar_one()
        staged = sum(
            int(connection.execute(text(f"select count(*) {_staged(name)}"), _quarantined(limits, now)).scalar_one())
            for name in _STAGING
        )
        replaced = connection.execute(
            text(f"select count(*) {_REPLACED}"), {"before": now - timedelta(days=limits.loads_days)}
        ).scalar_one()
    return Retention(months, int(undecided), staged, int(replaced))


def apply(engine: Engine, *, limits: Limits, now: datetime, report: Report) -> Retention:
    """Remove what is past its time and make the partitions of the months ahead; return what was removed.

    Each step is a transaction of its own. A month is dropped only when its locks are free within seconds: tried again
    a few times, then EnvironmentFault. Run it again at any time; what is gone is gone.
    """
    found = past_their_time(engine, limits=limits, now=now)
    for month in found.months:
        _drop(engine, month)
        report(f"requests of the month before {month.until}: {month.requests} rows dropped")
    with engine.begin() as connection:
        staged = sum(
            connection.execute(text(f"delete {_staged(name)}"), _quarantined(limits, now)).rowcount for name in _STAGING
        )
    with engine.begin() as connection:
        replaced = connection.execute(
            text(f"delete {_REPLACED}"), {"before": now - timedelta(days=limits.loads_days)}
        ).rowcount
    undecided = reap(engine, older_than=UNDECIDED_FOR)
    with engine.begin() as connection:
        ahead = ensure_partitions(connection, months_from(now.date()))
    return Retention(found.months, len(undecided), staged, replaced, tuple(ahead))


_REPLACED = (  # the latest decided load of a block stays: what is published came by it
    "from warehouse.load as l where coalesce(l.decided_at, l.created_at) < :before and ("
    "l.state = 'abandoned' or (l.state in ('published', 'quarantined') and exists ("
    "select 1 from warehouse.load as later where later.sweep_id = l.sweep_id and later.block_id = l.block_id "
    "and later.state in ('published', 'quarantined') and later.decided_at > l.decided_at)))"
)


def _staged(table: str) -> str:
    return (
        f"from staging.{table} as s where s.load_id in (select l.load_id from warehouse.load as l "
        "where l.state in ('published', 'quarantined', 'abandoned') and l.decided_at < :before)"
    )


def _quarantined(limits: Limits, now: datetime) -> dict[str, datetime]:
    return {"before": now - timedelta(days=limits.quarantined_days)}


def _months(connection: Connection, *, before: date) -> tuple[Month, ...]:
    found = connection.execute(
        text(
            "select c.relname, pg_get_expr(c.relpartbound, c.oid) from pg_inherits as i "
            "inner join pg_class as c on i.inhrelid = c.oid "
            "where i.inhparent = 'warehouse.request'::regclass order by c.relname"
        )
    ).all()
    months = []
    for name, bound in found:
        until = until_of(name, bound)
        if until is not None and until <= before:
            rows = connection.execute(text(f"select count(*) from warehouse.{name}")).scalar_one()
            months.append(Month(name, until, int(rows)))
    return tuple(months)


def until_of(name: str, bound: str) -> date | None:
    """Return the first day after a partition; None for one that is not a month of ours."""
    found = _UNTIL.search(bound)
    return date.fromisoformat(found.group(1)) if _MONTH.fullmatch(name) and found else None


def _drop(engine: Engine, month: Month) -> None:
    statements: Sequence[str] = (
        f"set local lock_timeout = '{LOCK_TIMEOUT}'",
        f"alter table warehouse.request detach partition warehouse.{month.partition}",
        f"drop table warehouse.{month.partition}",
    )
    for attempt in range(LOCK_TRIES):
        try:
            with engine.begin() as connection:
                for statement in statements:
                    connection.execute(text(statement))
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != "55P03":  # lock not available
                raise
            time.sleep(attempt + 1)  # let those go first who wait
        else:
            return
    message = (
        f"The requests before {month.until} could not be dropped: somebody reads or writes requests all the time. "
        "Run it again when no sweep is being loaded; what was dropped already is gone."
    )
    raise EnvironmentFault(message)
