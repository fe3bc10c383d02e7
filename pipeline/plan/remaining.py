"""What of a block is still to do, from what is complete: the pure half of resuming."""

from collections.abc import Collection
from dataclasses import dataclass

from pipeline.domain.block import Block, PlannedStart
from pipeline.domain.cell import Cell

REOPEN_AFTER_S = 30 * 60.0


@dataclass(frozen=True, slots=True)
class Complete:
    """One complete repetition, as found in the run directory."""

    start_index: int
    attempt: int
    cell_id: str
    repetition: int  # from 0
    ended_at_s: float  # Unix time of the end of its window


@dataclass(frozen=True, slots=True)
class Todo:
    """One server start that still has repetitions to do; cells with the repetitions that are missing."""

    start: PlannedStart
    attempt: int
    repetitions: tuple[tuple[Cell, int], ...]


@dataclass(frozen=True, slots=True)
class Remaining:
    """The rest of a block, in order."""

    todo: tuple[Todo, ...]
    gap_s: float | None  # since the last complete repetition; None when there is none
    reopened: bool


def remaining(
    block: Block,
    *,
    complete: Collection[Complete],
    attempts: dict[int, int],
    failed: Collection[tuple[int, str]],
    now_s: float,
    same_hardware: bool,
) -> Remaining:
    """Return what is left of `block`.

    `attempts` holds the highest attempt seen for each start, `failed` the (start, cell) that must not be tried again.
    A block interrupted for more than 30 minutes, or now on another machine, opens again: every baseline cell of the
    opening start is measured anew before the rest, as a further attempt, so that each arm has a baseline near in time.
    """
    done = {(c.start_index, c.cell_id, c.repetition) for c in complete}
    last = max((c.ended_at_s for c in complete), default=None)
    gap = None if last is None else max(0.0, now_s - last)
    left = [(start, _missing(start, block.repetitions, done=done, failed=failed)) for start in block.starts]
    unfinished = [(start, cells) for start, cells in left if cells]
    reopened = bool(unfinished) and gap is not None and (gap > REOPEN_AFTER_S or not same_hardware)
    if reopened:
        opening = block.starts[0]
        again = _missing(opening, block.repetitions, done=set(), failed=failed)
        unfinished = [(opening, again), *(item for item in unfinished if item[0].index != opening.index)]
    todo = tuple(
        Todo(start=start, attempt=attempts.get(start.index, 0) + 1, repetitions=cells) for start, cells in unfinished
    )
    return Remaining(todo=todo, gap_s=gap, reopened=reopened)


def _missing(
    start: PlannedStart,
    repetitions: int,
    *,
    done: Collection[tuple[int, str, int]],
    failed: Collection[tuple[int, str]],
) -> tuple[tuple[Cell, int], ...]:
    return tuple(
        (cell, repetition)
        for repetition in range(repetitions)
        for cell in start.cells
        if (start.index, cell.cell_id, repetition) not in done and (start.index, cell.cell_id) not in failed
    )


def without_baseline(
    block: Block, *, failed_for_good: Collection[int], complete: Collection[Complete]
) -> frozenset[tuple[int, str]]:
    """Return the (start, cell) that would be measured for nothing: their opening baseline failed for good.

    `failed_for_good` holds the starts whose last failure is no use repeating. A cell whose baseline has at least one
    complete repetition in the opening start is still worth its time: the server died later, at another cell.
    """
    if not block.starts or block.starts[0].index not in failed_for_good:
        return frozenset()
    opening = block.starts[0].index
    kept = {c.cell_id for c in complete if c.start_index == opening}
    return frozenset(
        (start.index, cell.cell_id)
        for start in block.starts[1:]
        for cell in start.cells
        if cell.baseline_cell_id not in kept
    )
