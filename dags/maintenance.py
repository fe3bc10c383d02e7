"""Every day: what keeps the warehouse in order while nobody looks."""

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable, task
from airflow.sdk.exceptions import AirflowSkipException
from factory import final_errors

NIGHTS = os.environ.get("SPECWATCH_NIGHTLY_CRON")
CRON = os.environ.get("SPECWATCH_MAINTENANCE_CRON") or ("off" if NIGHTS == "off" else "0 12 * * *")
TIMEZONE = os.environ.get("SPECWATCH_NIGHTLY_TIMEZONE") or "Europe/Berlin"

DOC = """
### Is the warehouse in order?

* **backup**: the warehouse in one file with counts and checksums, into the directory SPECWATCH_BACKUPS; the seven
  newest are kept. Skipped where no directory is named.
* **retention**: single requests go 180 days after their month's end, after the backup; measurements, speedups and
  verdicts stay for good.
* **maintain**: partitions of the months ahead, loads that were abandoned, and every check of `sql/checks`. Red, naming
  the rows, when one finds some.

The same as `specwatch db backup`, `db retention` and `db check`. Runs at 12:00 Europe/Berlin, or as
SPECWATCH_MAINTENANCE_CRON and SPECWATCH_NIGHTLY_TIMEZONE say (`off`: only by hand; so it is where the nights are off
and this says nothing).
"""


@task(multiple_outputs=False, execution_timeout=timedelta(hours=4))
def backup() -> dict[str, Any]:
    """Write the warehouse to one file, where a directory for them is named."""
    from pipeline import steps

    with final_errors():
        done = steps.backup_warehouse()
    if done["file"] is None:
        raise AirflowSkipException("no backup: SPECWATCH_BACKUPS names no directory")
    return {"file": done["file"], "bytes": done["bytes"]}


@task(multiple_outputs=False, trigger_rule="none_failed", execution_timeout=timedelta(hours=1))
def retention() -> dict[str, Any]:
    """Drop what is past its time; not after a backup that failed."""
    from pipeline import steps

    with final_errors():
        return steps.retain_warehouse()


@task(multiple_outputs=False, execution_timeout=timedelta(hours=1))
def maintain() -> dict[str, Any]:
    """Make partitions ahead, reap abandoned loads, and name rows that must not exist."""
    from pipeline import steps

    with final_errors():
        return steps.maintain_warehouse()


with DAG(
    dag_id="maintenance",
    schedule=None if CRON == "off" else CronTriggerTimetable(CRON, timezone=TIMEZONE),
    description="Back the warehouse up, drop what is past its time, and check it",
    doc_md=DOC,
    tags=["specwatch", "warehouse"],
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    default_args={"owner": "specwatch", "retries": 2, "retry_delay": timedelta(minutes=5)},
) as maintenance:
    backup() >> retention()
    maintain()
