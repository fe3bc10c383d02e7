"""One block on disk: its plan, the host it ran on, its server starts, its result."""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from pipeline.domain.block import LAYOUT_VERSION, Block, BlockResult, CellOutcome, Interruption, Sweep
from pipeline.domain.hardware import Hardware
from pipeline.domain.model import ResolvedModel
from pipeline.domain.server_start import ServerStart
from pipeline.domain.workload import Workload
from pipeline.errors import EnvironmentFault, UserError
from pipeline.records import files
from pipeline.records.layout import (
    BLOCK_FILE,
    HOST_FILE,
    MANIFEST_FILE,
    RESULT_FILE,
    START_FILE,
    SWEEP_FILE,
    TROUBLE_FILE,
    WORKLOADS_FILE,
)
from pipeline.records.repetition import Manifest, manifests


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """sweep.json: one line a block."""

    layout_version: int
    sweep: Sweep
    blocks: tuple[str, ...]
    releases: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what a range of releases named when planned


@dataclass(frozen=True, slots=True)
class Host:
    """host.json: what was found where the block runs. A block resumed elsewhere appends another."""

    hardware: Hardware
    models: tuple[ResolvedModel, ...]
    engine_packages: dict[str, str]
    hostname: str
    recorded_at: str


def write_sweep(
    directory: Path, plan: SweepPlan, blocks: Sequence[Block], *, workloads: Sequence[Workload]
) -> list[Path]:
    """Write the plan of a sweep; a sweep that is there already is left as it is, and must be the same.

    Returns the block directories. Raises UserError when another plan lies there under this id.
    """
    paths = [directory / block.block_id for block in blocks]
    for path, block in zip(paths, blocks, strict=True):
        if (path / BLOCK_FILE).exists():
            there = read_block(path)
            if there.starts != block.starts or there.repetitions != block.repetitions:
                message = (
                    f"{path} holds another plan under the same sweep id. Start a new sweep (--new), or give back the "
                    "matrix that this sweep was planned from."
                )
                raise UserError(message)
            continue
        files.write_bytes(path / WORKLOADS_FILE, files.dump(tuple(workloads), tuple[Workload, ...]))
        files.write_bytes(path / BLOCK_FILE, files.dump(block, Block))
    if not (directory / SWEEP_FILE).exists():
        files.write_bytes(directory / SWEEP_FILE, files.dump(plan, SweepPlan))
    return paths


def read_sweep(directory: Path) -> SweepPlan:
    """Read sweep.json. Raises UserError when absent, damaged or newer than this release."""
    return files.read_versioned(directory / SWEEP_FILE, SweepPlan)


def read_block(directory: Path) -> Block:
    """Read block.json. Raises UserError when absent, damaged or newer than this release."""
    return files.read_versioned(directory / BLOCK_FILE, Block)


def read_workloads(directory: Path) -> dict[str, Workload]:
    """Return the prompt sets that the block was planned with, by `workload_id`: one set can come in two lengths."""
    return {workload.workload_id: workload for workload in files.read(directory / WORKLOADS_FILE, tuple[Workload, ...])}


def read_hosts(directory: Path) -> tuple[Host, ...]:
    """Read every host the block ran on, oldest first; empty before it ran."""
    path = directory / HOST_FILE
    return files.read(path, tuple[Host, ...]) if path.exists() else ()


def append_host(directory: Path, host: Host) -> None:
    """Record where the block runs, unless the last record says the same."""
    known = read_hosts(directory)
    if known and (known[-1].hardware, known[-1].models, known[-1].hostname) == (
        host.hardware,
        host.models,
        host.hostname,
    ):
        return
    files.write_bytes(directory / HOST_FILE, files.dump((*known, host), tuple[Host, ...]))


@dataclass(frozen=True, slots=True)
class Trouble:
    """trouble.json: why the block stopped, and at which stage. Void once the block has a result."""

    stage: str  # prepare, bench
    message: str
    at: str  # ISO 8601, UTC


def write_trouble(directory: Path, *, stage: str, message: str) -> None:
    """Record why the block stopped; a disk that takes no more is no second error."""
    trouble = Trouble(stage=stage, message=message, at=datetime.now(UTC).isoformat())
    with contextlib.suppress(EnvironmentFault):
        files.write_bytes(directory / TROUBLE_FILE, files.dump(trouble, Trouble))


def read_trouble(directory: Path) -> Trouble | None:
    """Return the last trouble; None when there was none."""
    path = directory / TROUBLE_FILE
    return files.read(path, Trouble) if path.exists() else None


def attempt_directories(directory: Path) -> list[Path]:
    """Return every attempt of every start, in order."""
    found = [path for path in directory.glob("starts/*/*") if path.name.isdigit()]
    return sorted(found, key=lambda path: (path.parent.name, int(path.name)))


def write_start(directory: Path, start: ServerStart) -> None:
    """Write start.json of one attempt."""
    files.write_bytes(directory / START_FILE, files.dump(start, ServerStart))


def read_starts(directory: Path) -> tuple[ServerStart, ...]:
    """Read every server start of the block that left a start.json."""
    return tuple(
        files.read_versioned(path / START_FILE, ServerStart)
        for path in attempt_directories(directory)
        if (path / START_FILE).exists()
    )


def complete_repetitions(directory: Path) -> list[tuple[Path, Manifest]]:
    """Return every complete repetition of the block, in order."""
    return list(manifests(attempt_directories(directory)))


def current_repetitions(directory: Path) -> list[tuple[Path, Manifest]]:
    """Return the complete repetitions made since the block last changed its hardware.

    What was measured on another machine before that stays on disk, and is never paired with what came after.
    """
    hosts = read_hosts(directory)
    since = max((new.recorded_at for old, new in pairwise(hosts) if old.hardware != new.hardware), default=None)
    return [
        (path, manifest)
        for path, manifest in complete_repetitions(directory)
        if since is None or datetime.fromisoformat(manifest.started_at) >= datetime.fromisoformat(since)
    ]


def write_result(directory: Path, block: Block, outcomes: Sequence[CellOutcome], gaps: Sequence[Interruption]) -> None:
    """Write BLOCK.json: the block is done."""
    hashes = {
        str((path / MANIFEST_FILE).relative_to(directory)): hashlib.sha256(
            files.read_bytes(path / MANIFEST_FILE)
        ).hexdigest()
        for path, _ in current_repetitions(directory)
    }
    result = BlockResult(
        layout_version=LAYOUT_VERSION,
        sweep_id=block.sweep.sweep_id,
        block_id=block.block_id,
        outcomes=tuple(outcomes),
        interruptions=tuple(gaps),
        manifests=hashes,
        completed_at=datetime.now(UTC).isoformat(),
    )
    files.write_bytes(directory / RESULT_FILE, files.dump(result, BlockResult))


def measured_cells(directory: Path) -> list[tuple[str, str]]:
    """Return (cell id, when the block was complete) of what a finished block measured; nothing is verified."""
    path = directory / RESULT_FILE
    if not path.exists():
        return []
    result = files.read_versioned(path, BlockResult)
    return [(outcome.cell_id, result.completed_at) for outcome in result.outcomes if outcome.status == "measured"]


def read_result(directory: Path) -> BlockResult | None:
    """Read BLOCK.json; None while the block is not done. Raises UserError when a manifest does not agree with it."""
    path = directory / RESULT_FILE
    if not path.exists():
        return None
    result = files.read_versioned(path, BlockResult)
    for name, digest in result.manifests.items():
        if hashlib.sha256(files.read_bytes(directory / name)).hexdigest() != digest:
            message = f"{directory / name} does not match {path}: it was changed. Copy the run directory again."
            raise UserError(message)
    return result
