"""Run directory -> measurements -> staging -> gate -> warehouse."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.domain.block import Block, CellOutcome
from pipeline.domain.measurement import AcceptancePosition, Measurement, RepetitionKey
from pipeline.domain.request import RequestRow
from pipeline.domain.validation import ValidationOutcome
from pipeline.errors import UserError
from pipeline.measure.counters import CounterReset, CounterWindow, difference
from pipeline.measure.metrics import metrics
from pipeline.measure.requests import rows
from pipeline.records.block import current_repetitions, read_block, read_hosts, read_result, read_starts, read_workloads
from pipeline.records.repetition import Manifest, read_window
from pipeline.settings import load_settings
from pipeline.steps.benching import outcomes
from pipeline.steps.warehousing import open_migrated
from pipeline.validate.gate import run as run_gate
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import publish, quarantine_load, record_validation

Report = Callable[[str], None]


@dataclass(slots=True)
class _Read:
    """What the repetitions of a block reduce to."""

    measurements: list[Measurement] = field(default_factory=list)
    positions: list[AcceptancePosition] = field(default_factory=list)
    void: dict[tuple[int, str], str] = field(default_factory=dict)  # (start, cell) -> why a repetition is void


def ingest_block(block_dir: str, *, report: Report) -> dict[str, Any]:
    """See pipeline.steps.ingest_block."""
    directory = Path(block_dir)
    load, void = load_of(directory)
    engine, url = open_migrated(load_settings())
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


def load_of(directory: Path) -> tuple[BlockLoad, int]:
    """Read and reduce a block's run directory; also return how many repetitions were void.

    Raises UserError naming the file that is damaged or missing.
    """
    block = read_block(directory)
    hosts = read_hosts(directory)
    if not hosts:
        message = f"{directory} was planned and never measured (no host.json): bench it first."
        raise UserError(message)
    result = read_result(directory)
    repetitions = current_repetitions(directory)
    read = _Read()
    for path, manifest in repetitions:
        _reduce(path, manifest, block=block, read=read)
    load = BlockLoad(
        block=block,
        hardware=hosts[-1].hardware,
        models=hosts[-1].models,
        workloads=tuple(read_workloads(directory).values()),
        starts=read_starts(directory),
        outcomes=_outcomes(list(result.outcomes) if result else outcomes(block, directory), read.void),
        measurements=tuple(read.measurements),
        acceptance=tuple(read.positions),
        requests=_requests(repetitions, block=block, void=read.void),
        directory=str(directory),
        completed_at=result.completed_at if result else None,
        interruptions=result.interruptions if result else (),
    )
    return load, len(read.void)


def _key(manifest: Manifest, block: Block) -> RepetitionKey:
    return RepetitionKey(
        sweep_id=block.sweep.sweep_id,
        block_id=block.block_id,
        start_index=manifest.start_index,
        attempt=manifest.attempt,
        cell_id=manifest.cell_id,
        repetition=manifest.repetition,
    )


def _reduce(path: Path, manifest: Manifest, *, block: Block, read: _Read) -> None:
    _, window = read_window(path)
    key = _key(manifest, block)
    try:
        counters = difference(window.before, window.after)
    except CounterReset as error:
        read.void[manifest.start_index, manifest.cell_id] = (
            f"repetition {manifest.repetition} is void: {error}: the server restarted. Bench the block again."
        )
        return
    read.measurements.append(
        Measurement(
            key=key,
            position=manifest.position,
            started_at=manifest.started_at,
            metrics=metrics(window.requests, counters, client_cpu_s=manifest.client_cpu_s),
        )
    )
    read.positions.extend(_positions(key, counters))


def _positions(key: RepetitionKey, counters: CounterWindow) -> Iterator[AcceptancePosition]:
    if counters.drafts:
        for position, accepted in enumerate(counters.accepted_per_position):
            yield AcceptancePosition(key=key, draft_position=position, accepted=accepted, drafts=counters.drafts)


def _requests(
    repetitions: list[tuple[Path, Manifest]], *, block: Block, void: dict[tuple[int, str], str]
) -> Iterator[tuple[RepetitionKey, RequestRow]]:
    for path, manifest in repetitions:
        if (manifest.start_index, manifest.cell_id) in void:
            continue
        _, window = read_window(path)
        for row in rows(window.requests, origin_ns=window.origin_ns):
            yield _key(manifest, block), row


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
