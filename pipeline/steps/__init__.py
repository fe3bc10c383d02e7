"""The flow, top to bottom, one function a stage. The only module that knows all rooms.

    plan_sweep -> prepare_block -> bench_block -> RUN DIRECTORY -> ingest_block -> analyze_sweep -> check_sweep

Arguments and results are strings, numbers, lists and dictionaries, so that Airflow can carry them. Each stage imports
its rooms when it is called: a GPU worker has no database driver, and only validation pays for Great Expectations.
Every stage can be run again and gives the same.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.logs import about, log

Report = Callable[[str], None]
Progress = Callable[[int, int, str], None]  # repetitions done, planned, what is running

Result = dict[str, Any]


def plan_sweep(
    matrix: str, *, sweep_id: str | None = None, trigger: str = "cli", overrides: Mapping[str, Any] | None = None
) -> Result:
    """Expand the matrix at path `matrix` into blocks and write their plans.

    Without `sweep_id` an unfinished sweep of the same matrix is continued, or a new one begins. Returns {"sweep_id",
    "sweep_dir", "blocks": [directory, ...], "cells", "skipped"}. Raises UserError for a matrix that cannot be measured.
    """
    from pipeline.steps.planning import plan_sweep as run

    return run(matrix, sweep_id=sweep_id, trigger=trigger, overrides=overrides or {})


def prepare_block(block_dir: str, *, report: Report = log.info) -> Result:
    """Install the engine and make or find the models that a block needs, on the machine that will measure it."""
    from pipeline.steps.preparing import prepare_block as run

    with about(**_block_ids(block_dir)):
        return run(block_dir, report=report)


def bench_block(
    block_dir: str, *, report: Report = log.info, progress: Progress | None = None, watch_ancestors: bool = True
) -> Result:
    """Measure what is left of a block; returns {"block_dir", "measured", "failed", "skipped"}.

    A cell that fails is an outcome with a reason. Raises only when the block could not be finished: run it again, it
    continues after the last complete repetition. `watch_ancestors`: end when the parent or grandparent process does, as
    a task of an edge worker must; a person's shell may go away.
    """
    from pipeline.steps.benching import bench_block as run

    with about(**_block_ids(block_dir)):
        return run(block_dir, report=report, progress=progress, watch_ancestors=watch_ancestors)


def ingest_block(block_dir: str, *, report: Report = log.info) -> Result:
    """Measure, validate and publish a block's run directory; loading it again changes nothing.

    Returns {"load_id", "state", "measurements", "quarantined": {cell id: reason}}. Raises EnvironmentFault when the
    database is away: the run directory stays, run it again.
    """
    from pipeline.steps.ingesting import ingest_block as run

    with about(**_block_ids(block_dir)):
        return run(block_dir, report=report)


def analyze_sweep(sweep_id: str, *, margin: float | None = None, report: Report = log.info) -> Result:
    """Compute speedups and verdicts of a sweep from the warehouse; returns {"speedups", "verdicts"}."""
    from pipeline.steps.analyzing import analyze_sweep as run

    with about(sweep=sweep_id):
        return run(sweep_id, margin=margin, report=report)


def check_sweep(sweep_dir: str, *, report: Report = log.info) -> Result:
    """Raise GateFailed, naming the cells, unless every planned cell was skipped or measured and passed the gate."""
    from pipeline.steps.checking import check_sweep as run

    with about(sweep=Path(sweep_dir).name):
        return run(sweep_dir, report=report)


def maintain_warehouse(*, report: Report = log.info) -> Result:
    """Make partitions ahead, reap abandoned loads, and look for rows that must not exist.

    Returns {"reaped", "partitions", "faults"}. Raises GateFailed naming the checks that found rows.
    """
    from pipeline.steps.maintaining import maintain_warehouse as run

    return run(report=report)


def retain_warehouse(*, report: Report = log.info) -> Result:
    """Drop single requests 180 days after their month's end, and old loads; measurements and verdicts stay.

    Returns the counts of `specwatch db retention`.
    """
    from pipeline.steps.retaining import retain
    from pipeline.warehouse.retention import Limits

    return retain(requests_days=Limits().requests_days, dry_run=False, report=report)


def backup_warehouse(*, report: Report = log.info) -> Result:
    """Back the warehouse up into the directory SPECWATCH_BACKUPS and keep the seven newest there.

    Returns {"file", "bytes", "dropped"}; "file" is None where no directory is named.
    """
    from pipeline.steps.backing_up import keep_backups as run

    return run(report=report)


def _block_ids(block_dir: str) -> dict[str, str]:
    path = Path(block_dir)
    return {"sweep": path.parent.name, "block": path.name}
