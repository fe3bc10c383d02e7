"""The repetitions of a block, each read once, reduced to measurements and to rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.domain.block import Block
from pipeline.domain.cell import Cell
from pipeline.domain.engine import EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.measurement import AcceptancePosition, Measurement, RepetitionKey
from pipeline.domain.request import ClientFacts
from pipeline.domain.server_start import ServerStart
from pipeline.domain.telemetry import TelemetryRow
from pipeline.measure.acceptance import by_position
from pipeline.measure.counters import CounterReset, CounterWindow, difference
from pipeline.measure.losslessness import texts
from pipeline.measure.metrics import faults, metrics
from pipeline.measure.requests import rows
from pipeline.measure.steady import phases
from pipeline.measure.telemetry import telemetry_rows
from pipeline.measure.window import MeasuredWindow, Texts
from pipeline.records.repetition import Manifest, Window, read_window
from pipeline.steps.spool import Spool


@dataclass(slots=True)
class Reduced:
    """What the repetitions of a block reduce to."""

    measurements: list[Measurement] = field(default_factory=list)
    positions: list[AcceptancePosition] = field(default_factory=list)
    telemetry: list[tuple[RepetitionKey, TelemetryRow]] = field(default_factory=list)
    requests: Spool = field(default_factory=Spool)
    void: dict[tuple[int, str], str] = field(default_factory=dict)  # (start, cell) -> why a repetition is void


@dataclass(slots=True)
class _Of:
    """What is known of the block beside its repetitions."""

    block: Block
    cells: dict[str, Cell]
    facts: dict[tuple[int, int], EngineFacts]  # (start, attempt)
    baseline: EngineFacts | None
    gpus: int
    usd_per_gpu_hour: float | None
    references: dict[str, Texts] = field(default_factory=dict)  # baseline cell -> its first opening outputs


def reduce_block(
    block: Block,
    repetitions: Sequence[tuple[Path, Manifest]],
    *,
    starts: Sequence[ServerStart],
    hardware: Hardware,
    usd_per_gpu_hour: float | None,
) -> Reduced:
    """Reduce complete repetitions, given in the order of their starts. Raises UserError naming a damaged file."""
    of = _Of(
        block=block,
        cells={cell.cell_id: cell for start in block.starts for cell in start.cells},
        facts={(start.index, start.attempt): start.facts for start in starts},
        baseline=_baseline_facts(starts),
        gpus=hardware.accelerators,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
    reduced = Reduced()
    for path, _ in repetitions:
        manifest, window = read_window(path)
        _reduce(manifest, window, of=of, reduced=reduced)
    return reduced


def _baseline_facts(starts: Sequence[ServerStart]) -> EngineFacts | None:
    """Return what the opening baseline logged of its memory; the closing one's where that said nothing."""
    order = {"opening": 0, "closing": 1}
    baselines = sorted((s for s in starts if s.position in order), key=lambda s: (order[s.position], s.attempt))
    told = [s.facts for s in baselines if (s.facts.kv_cache_tokens, s.facts.model_memory_bytes) != (None, None)]
    return told[0] if told else None


def _reduce(manifest: Manifest, window: Window, *, of: _Of, reduced: Reduced) -> None:
    key = RepetitionKey(
        sweep_id=of.block.sweep.sweep_id,
        block_id=of.block.block_id,
        start_index=manifest.start_index,
        attempt=manifest.attempt,
        cell_id=manifest.cell_id,
        repetition=manifest.repetition,
    )
    try:
        counters = difference(window.before, window.after)
    except CounterReset as error:
        reduced.void[manifest.start_index, manifest.cell_id] = (
            f"repetition {manifest.repetition} is void: {error}: the server restarted. Bench the block again."
        )
        return
    measured = _measured(manifest, window, counters, of=of)
    found = metrics(measured)
    reduced.measurements.append(
        Measurement(
            key=key,
            position=manifest.position,
            started_at=manifest.started_at,
            metrics=found,
            faults=faults(found),
        )
    )
    reduced.positions.extend(_positions(key, counters))
    reduced.telemetry.extend((key, row) for row in telemetry_rows(measured))
    reduced.requests.add(key, rows(window.requests, origin_ns=window.origin_ns, phases=phases(measured)))


def _measured(manifest: Manifest, window: Window, counters: CounterWindow, *, of: _Of) -> MeasuredWindow:
    cell = of.cells[manifest.cell_id]
    return MeasuredWindow(
        records=window.requests,
        counters=counters,
        concurrency=cell.concurrency,
        slo=of.block.slo,
        temperature=cell.temperature,
        client=window.client or ClientFacts(cpu_s=window.client_cpu_s),
        samples=window.telemetry,
        facts=of.facts.get((manifest.start_index, manifest.attempt), EngineFacts()),
        baseline_facts=of.baseline if manifest.position == "arm" else None,
        reference=_reference(manifest, window, cell, of=of),
        usd_per_gpu_hour=of.usd_per_gpu_hour,
        gpus=of.gpus,
    )


def _reference(manifest: Manifest, window: Window, cell: Cell, *, of: _Of) -> Texts | None:
    """Return the outputs to compare with. The first repetition of an opening baseline becomes them."""
    if cell.temperature > 0:
        return None
    known = of.references.get(cell.baseline_cell_id)
    if known is None and manifest.position == "opening":
        of.references[cell.baseline_cell_id] = texts(window.requests)
    return known


def _positions(key: RepetitionKey, counters: CounterWindow) -> Iterator[AcceptancePosition]:
    if counters.drafts:
        for position, (accepted, unconditional, conditional) in enumerate(by_position(counters)):
            yield AcceptancePosition(
                key=key,
                draft_position=position,
                accepted=accepted,
                drafts=counters.drafts,
                unconditional=unconditional,
                conditional=conditional,
            )
