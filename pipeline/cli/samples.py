"""The recorded sweeps of samples/: read into the warehouse once, so that its pages have something real to show."""

from pathlib import Path

from pipeline import steps
from pipeline.cli.ingest import block_name, blocks_under
from pipeline.cli.output import Progress, Report, counted
from pipeline.records.layout import SWEEP_FILE
from pipeline.settings import REPOSITORY, Settings

SAMPLES = REPOSITORY / "samples"


def read_samples(settings: Settings, *, report: Report, progress: Progress | None) -> list[str]:
    """Ingest and analyze every recorded sweep that the warehouse does not hold yet; return their ids.

    They keep the hardware they were measured on, so nothing that is measured here is compared with them, unless it is
    the same hardware.
    """
    missing = _missing(settings)
    blocks = [block for sweep in missing for block in blocks_under(sweep)]
    for block in counted(blocks, progress=progress, name=block_name):
        steps.ingest_block(str(block), report=report)
    for sweep in missing:
        steps.analyze_sweep(sweep.name, report=report)
    return [sweep.name for sweep in missing]


def _missing(settings: Settings) -> list[Path]:
    from pipeline.steps.warehousing import open_migrated
    from pipeline.warehouse.queries import night_summary

    engine, _ = open_migrated(settings)
    known = set(night_summary(engine, limit=100_000)["sweep_id"])
    recorded = sorted(path.parent for path in SAMPLES.glob(f"*/{SWEEP_FILE}"))
    return [sweep for sweep in recorded if sweep.name not in known]
