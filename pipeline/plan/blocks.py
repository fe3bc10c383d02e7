"""Cells -> blocks: opening baseline, arms in seeded random order, closing baseline, for one (engine, target)."""

import random
from collections.abc import Callable, Sequence

from pipeline.domain.block import LAYOUT_VERSION, Block, PlannedStart, SkippedCell, Sweep
from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine
from pipeline.domain.identity import short_hash
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.domain.slo import DEFAULT_SLO, Slo

Unsupported = Callable[[Cell], str | None]
Arms = Sequence[tuple[Method, Sequence[Cell]]]


def plan_block(
    arms: Arms,
    *,
    sweep: Sweep,
    number: int,
    engine: Engine,
    target: Model,
    repetitions: int,
    seed: int,
    unsupported: Unsupported,
    slo: Slo = DEFAULT_SLO,
) -> Block:
    """Order one block. The first arm is the baseline; `unsupported` gives the reason a cell cannot be measured.

    The order of the arms depends on the seed, the sweep and the block, so that over nights no arm keeps its place.
    A block whose every speculative cell is skipped has no starts: a baseline alone compares with nothing.
    """
    (baseline, baseline_cells), *speculative = arms
    skipped: list[SkippedCell] = []
    kept: list[tuple[Method, tuple[Cell, ...]]] = []
    for method, cells in speculative:
        possible = []
        for cell in cells:
            if reason := unsupported(cell):
                skipped.append(SkippedCell(cell=cell, reason=reason))
            else:
                possible.append(cell)
        if possible:
            kept.append((method, tuple(possible)))
    block_id = f"{number:02d}-{engine.engine_id}-{target.name}"
    order = random.Random(short_hash({"seed": seed, "sweep": sweep.sweep_id, "block": block_id}))  # noqa: S311 - an order, no secret
    order.shuffle(kept)
    starts: list[PlannedStart] = []
    if kept:
        wanted = {cell.baseline_cell_id for _, cells in kept for cell in cells}
        paired = tuple(cell for cell in baseline_cells if cell.cell_id in wanted)
        starts = [
            PlannedStart(index=0, position="opening", method=baseline, cells=paired),
            *(
                PlannedStart(index=i, position="arm", method=method, cells=cells)
                for i, (method, cells) in enumerate(kept, start=1)
            ),
            PlannedStart(index=len(kept) + 1, position="closing", method=baseline, cells=paired),
        ]
    return Block(
        layout_version=LAYOUT_VERSION,
        sweep=sweep,
        block_id=block_id,
        engine=engine,
        target=target,
        repetitions=repetitions,
        starts=tuple(starts),
        skipped=tuple(skipped),
        slo=slo,
    )
