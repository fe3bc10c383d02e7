"""Run directory -> measurements -> staging -> gate -> warehouse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.domain.block import CellOutcome
from pipeline.domain.validation import ValidationOutcome
from pipeline.errors import UserError
from pipeline.records.block import current_repetitions, read_block, read_hosts, read_result, read_starts, read_workloads
from pipeline.settings import load_settings
from pipeline.steps.benching import outcomes
from pipeline.steps.reducing import reduce_block
from pipeline.steps.warehousing import open_migrated
from pipeline.validate.gate import run as run_gate
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import publish, quarantine_load, record_validation

Report = Callable[[str], None]


def ingest_block(block_dir: str, *, report: Report) -> dict[str, Any]:
    """See pipeline.steps.ingest_block."""
    directory = Path(block_dir)
    settings = load_settings()
    load, void = load_of(directory, usd_per_gpu_hour=settings.usd_per_gpu_hour)
    engine, url = open_migrated(settings)
    load_id = stage(engine, load)
    report(f"load {load_id}: {len(load.measurements)} measurements staged")
    said = run_gate(url, load_id, block=load.block) if load.measurements else []
    record_validation(engine, load_id, said)
    whole, bad = _judge(said)
    if whole:
        quarantine_load(engine, load_id, whole)
        state = "quarantined"
    else:
        publish(engine, load_id, quarantined=bad)
        state = "published"
    for cell_id, reason in bad.items():
        report(f"quarantined cell {cell_id}: {reason}")
    report(f"load {load_id}: {state}" + (f" ({whole})" if whole else ""))
    return {
        "block_dir": block_dir,
        "sweep_id": load.block.sweep.sweep_id,
        "load_id": load_id,
        "state": state,
        "measurements": len(load.measurements),
        "void": void,
        "quarantined": bad,
    }


def load_of(directory: Path, *, usd_per_gpu_hour: float | None = None) -> tuple[BlockLoad, int]:
    """Read and reduce a block's run directory, once; also return how many cells of a start have a void repetition.

    Raises UserError naming the file that is damaged or missing.
    """
    block = read_block(directory)
    hosts = read_hosts(directory)
    if not hosts:
        message = f"{directory} was planned and never measured (no host.json): bench it first."
        raise UserError(message)
    result = read_result(directory)
    starts = read_starts(directory)
    reduced = reduce_block(
        block,
        current_repetitions(directory),
        starts=starts,
        hardware=hosts[-1].hardware,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
    load = BlockLoad(
        block=block,
        hardware=hosts[-1].hardware,
        models=hosts[-1].models,
        workloads=tuple(read_workloads(directory).values()),
        starts=starts,
        outcomes=_outcomes(list(result.outcomes) if result else outcomes(block, directory), reduced.void),
        measurements=tuple(reduced.measurements),
        acceptance=tuple(reduced.positions),
        requests=reduced.requests.rows(without=frozenset(reduced.void)),
        telemetry=tuple(reduced.telemetry),
        directory=str(directory),
        completed_at=result.completed_at if result else None,
        interruptions=result.interruptions if result else (),
    )
    return load, len(reduced.void)


def _outcomes(found: list[CellOutcome], void: dict[tuple[int, str], str]) -> tuple[CellOutcome, ...]:
    changed = []
    for outcome in found:
        index = outcome.start_index
        reason = void.get((index, outcome.cell_id)) if index is not None else None
        if reason and outcome.status == "measured":
            changed.append(CellOutcome(index, outcome.cell_id, "failed", reason=reason, failure="counter_reset"))
        else:
            changed.append(outcome)
    return tuple(changed)


def _judge(said: list[ValidationOutcome]) -> tuple[str | None, dict[str, str]]:
    """Return why the whole load is refused (or None), and why single cells are."""
    whole: list[str] = []
    bad: dict[str, list[str]] = {}
    for outcome in said:
        if outcome.success or outcome.severity != "critical":
            continue
        text = outcome.details or f"{outcome.expectation} ({outcome.subject}) does not hold"
        for cell_id in outcome.cell_ids:
            bad.setdefault(cell_id, []).append(text)
        if not outcome.cell_ids:
            whole.append(text)
    return "; ".join(whole) or None, {cell_id: "; ".join(texts) for cell_id, texts in sorted(bad.items())}
