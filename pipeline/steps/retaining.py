"""What the warehouse no longer has to keep."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pipeline.errors import UserError
from pipeline.settings import load_settings
from pipeline.steps.warehousing import open_migrated
from pipeline.warehouse.retention import Limits, apply, past_their_time

FEWEST_DAYS = 31  # the analysis of a night needs its requests; A/A pairs of the last month are read again


def retain(
    *, requests_days: int, dry_run: bool, report: Callable[[str], None], now: datetime | None = None
) -> dict[str, Any]:
    """Remove what is past its time, or only say what that is; return counts. Raises UserError below 31 days."""
    if requests_days < FEWEST_DAYS:
        message = f"--requests-days {requests_days}: requests are kept for {FEWEST_DAYS} days at least."
        raise UserError(message)
    engine, _ = open_migrated(load_settings())
    limits = Limits(requests_days=requests_days)
    at = now or datetime.now(UTC)
    found = (
        past_their_time(engine, limits=limits, now=at)
        if dry_run
        else apply(engine, limits=limits, now=at, report=report)
    )
    return {"dry_run": dry_run} | found.as_json()
