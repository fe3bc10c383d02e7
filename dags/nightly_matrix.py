"""Every night: the nightly matrix on the GPU worker, published and judged by morning."""

import os

from airflow.sdk import CronTriggerTimetable, Param
from factory import default_matrix, matrix_dag

CRON = os.environ.get("SPECWATCH_NIGHTLY_CRON") or "0 2 * * *"
TIMEZONE = os.environ.get("SPECWATCH_NIGHTLY_TIMEZONE") or "Europe/Berlin"

DOC = """
### Is speculative decoding worth it, tonight?

One run is one sweep of a matrix: **plan** → for each block **prepare** and **bench** (queue `blackwell`, pool `gpu`,
one at a time) → **ingest** → **analyze** → **gate**.

* Green: every planned cell was measured, or skipped by the capability registry, and passed validation.
* Red: the log of **gate** names the cells and why. Everything good is published all the same.
* A retry or a clear resumes after the last complete repetition: nothing is measured twice.

Runs at 02:00 Europe/Berlin, or as SPECWATCH_NIGHTLY_CRON and SPECWATCH_NIGHTLY_TIMEZONE say (`off`: only by hand);
`matrix` names another file for a run that is triggered by hand.
"""

nightly_matrix = matrix_dag(
    "nightly_matrix",
    trigger="nightly",
    schedule=None if CRON == "off" else CronTriggerTimetable(CRON, timezone=TIMEZONE),
    params={
        "matrix": Param(
            default_matrix(),
            type="string",
            pattern=r"\.ya?ml$",
            title="Matrix",
            description="A matrix file, relative to the repository or absolute.",
        )
    },
    description="Measure the nightly matrix, publish it, and say what is worth it",
    doc_md=DOC,
)
