"""A block: opening baseline, arms, closing baseline, for one (engine, target). The unit of work and of pairing."""

from dataclasses import dataclass
from typing import Literal

from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.domain.slo import DEFAULT_SLO, Slo

LAYOUT_VERSION = 1  # of the run directory: of every JSON file in it

Position = Literal["opening", "arm", "closing"]
OutcomeStatus = Literal["measured", "skipped", "failed", "quarantined"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One execution of a matrix."""

    sweep_id: str
    matrix_name: str
    matrix_hash: str
    planned_at: str  # ISO 8601, UTC
    trigger: str  # cli, nightly, adhoc, demo, test


@dataclass(frozen=True, slots=True)
class PlannedStart:
    """One server start: a fresh vLLM process that serves all cells of one arm."""

    index: int  # 0 is the opening baseline, the last one the closing baseline
    position: Position
    method: Method
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The directory of this start, such as `01-arm-ngram-k4`."""
        return f"{self.index:02d}-{self.position}-{self.method.name}"


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """A cell the capability registry refuses before any time is spent."""

    cell: Cell
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """The plan of one block, as written to block.json."""

    layout_version: int
    sweep: Sweep
    block_id: str
    engine: Engine
    target: Model
    repetitions: int
    starts: tuple[PlannedStart, ...]
    skipped: tuple[SkippedCell, ...] = ()
    slo: Slo = DEFAULT_SLO  # what goodput is counted under: not measured with, so it is no factor


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What became of one planned cell in one planned start; a reason wherever it was not measured."""

    start_index: int | None  # None for a skipped cell: it belongs to no start
    cell_id: str
    status: OutcomeStatus
    reason: str | None = None
    failure: str | None = None  # the failure's class, such as `out_of_memory`


@dataclass(frozen=True, slots=True)
class Interruption:
    """The block stopped here and was resumed."""

    resumed_at: str  # ISO 8601, UTC
    gap_s: float  # since the last complete repetition
    reopened: bool  # whether a new opening baseline was needed


@dataclass(frozen=True, slots=True)
class BlockResult:
    """BLOCK.json: written last, when every planned cell has an outcome."""

    layout_version: int
    sweep_id: str
    block_id: str
    outcomes: tuple[CellOutcome, ...]
    interruptions: tuple[Interruption, ...]
    manifests: dict[str, str]  # path relative to the block -> sha256 of its MANIFEST.json
    completed_at: str
