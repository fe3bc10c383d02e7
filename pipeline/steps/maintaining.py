"""The warehouse's housekeeping: partitions ahead, loads whose loader died, rows that must not exist."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline.errors import GateFailed
from pipeline.settings import load_settings
from pipeline.steps.warehousing import open_migrated
from pipeline.validate.standing import run as run_standing
from pipeline.warehouse.checks import fault_of, statements
from pipeline.warehouse.partitions import make_partitions_ahead
from pipeline.warehouse.publish import reap

ABANDONED_AFTER = timedelta(days=1)  # no load takes hours: its loader is gone


def maintain_warehouse(*, report: Callable[[str], None]) -> dict[str, Any]:
    """See pipeline.steps.maintain_warehouse."""
    engine, url = open_migrated(load_settings())
    partitions = make_partitions_ahead(engine, today=datetime.now(UTC).date())
    reaped = reap(engine, older_than=ABANDONED_AFTER)
    for load_id in reaped:
        report(f"load {load_id} was abandoned: its rows are dropped; ingest its run directory again")
    checks = statements()
    found = [fault_of(name, checks[name], rows) for name, rows in run_standing(url, checks).items()]
    if found:
        lines = (f"  {fault.check} ({len(fault.rows)}): {fault.meaning} {fault.rows[0]}" for fault in found)
        message = f"{len(found)} checks of the warehouse found rows that must not exist:\n" + "\n".join(lines)
        raise GateFailed(message)
    report(f"{len(reaped)} loads reaped; every check passes; partitions reach to {partitions[-1]}")
    return {"reaped": reaped, "partitions": partitions, "faults": []}
