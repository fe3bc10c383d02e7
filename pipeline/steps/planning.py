"""Matrix -> plan on disk."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.domain.block import LAYOUT_VERSION, Block, Sweep
from pipeline.domain.cell import Cell
from pipeline.domain.hardware import Hardware
from pipeline.engines.argv import flags_of
from pipeline.engines.capability import unsupported
from pipeline.errors import UserError
from pipeline.matrix.expand import Expansion, expand
from pipeline.matrix.fit import FactorMisfit
from pipeline.matrix.load import load_matrix, refused
from pipeline.matrix.schema import MatrixFile
from pipeline.matrix.select import select
from pipeline.plan.blocks import plan_block
from pipeline.plan.budget import beyond_budget
from pipeline.plan.estimate import Clock
from pipeline.records.block import SweepPlan, read_block, read_sweep, write_sweep
from pipeline.records.layout import RESULT_FILE, SWEEP_FILE
from pipeline.settings import REPOSITORY, Settings, load_settings
from pipeline.steps.forecasting import forecast, hardware_of, history
from pipeline.steps.prompting import prompt_sets
from pipeline.steps.resolving import Resolved, resolve_engines
from pipeline.workloads.sets import LENGTHS

SERVED_MODEL = "target"  # the name that requests use
VLLM_PORT = 28000  # the first that a server tries


def expand_matrix(matrix: str, *, overrides: Mapping[str, Any]) -> Expansion:
    """Read, narrow, resolve and expand a matrix file. Raises UserError."""
    return _expanded(matrix, overrides=overrides, known={})[0]


def _expanded(
    matrix: str, *, overrides: Mapping[str, Any], known: Resolved
) -> tuple[Expansion, dict[str, tuple[str, ...]]]:
    """Return the expansion, and which releases the matrix's ranges named."""
    chosen, resolved = resolve_engines(_chosen(matrix, overrides=overrides), known=known)
    try:
        return expand(chosen, workloads=prompt_sets(chosen, settings=load_settings())), resolved
    except FactorMisfit as misfit:
        if any(overrides.values()):
            message = f"matrix {chosen.name} with these parameters cannot be measured: {misfit}"
            raise UserError(message) from misfit
        raise refused(misfit, path=_found(matrix)) from misfit


def _chosen(matrix: str, *, overrides: Mapping[str, Any]) -> MatrixFile:
    return select(load_matrix(_found(matrix), workloads=LENGTHS), overrides)


def new_sweep_id(matrix: str, *, overrides: Mapping[str, Any]) -> str:
    """Return an id for a sweep that begins now: the matrix's name and the time, UTC."""
    return _sweep_id(_chosen(matrix, overrides=overrides).name, datetime.now(UTC))


def _sweep_id(name: str, now: datetime) -> str:
    return f"{name}-{now:%Y%m%dT%H%M%SZ}"


def _found(matrix: str) -> Path:
    """A relative path is looked for here, then in the repository: Airflow's tasks run in another directory."""
    path = Path(matrix)
    return path if path.exists() or path.is_absolute() else REPOSITORY / path


def plan_blocks(
    expansion: Expansion, *, sweep_id: str, trigger: str, planned_at: str, left_out: Mapping[str, str] | None = None
) -> tuple[Sweep, list[Block]]:
    """Order the blocks of a sweep; pure. `left_out` holds cell id -> reason of cells that the budget does not buy."""
    beyond, hardware = left_out or {}, hardware_of(expansion)

    def reason(cell: Cell) -> str | None:
        return _reason(cell, hardware=hardware) or (beyond.get(cell.cell_id) if beyond else None)

    sweep = Sweep(
        sweep_id=sweep_id,
        matrix_name=expansion.name,
        matrix_hash=expansion.matrix_hash,
        planned_at=planned_at,
        trigger=trigger,
    )
    blocks = [
        plan_block(
            group.arms,
            slo=expansion.slo,
            sweep=sweep,
            number=number,
            engine=group.engine,
            target=group.target,
            repetitions=expansion.repetitions,
            seed=expansion.seed,
            unsupported=reason,
        )
        for number, group in enumerate(expansion.groups, start=1)
    ]
    return sweep, blocks


def beyond(expansion: Expansion, *, clock: Clock, settings: Settings) -> dict[str, str]:
    """Return the cells that the matrix's budget does not buy, with the reason; none without a budget."""
    if expansion.budget_gpu_hours is None:
        return {}
    hardware = hardware_of(expansion)
    possible = [
        cell
        for group in expansion.groups
        for method, cells in group.arms
        if not method.is_baseline
        for cell in cells
        if _reason(cell, hardware=hardware) is None
    ]
    return beyond_budget(
        possible,
        budget_s=expansion.budget_gpu_hours * 3600,
        clock=clock,
        repetitions=expansion.repetitions,
        history=history(settings),
    )


def plan_sweep(matrix: str, *, sweep_id: str | None, trigger: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """See pipeline.steps.plan_sweep."""
    settings = load_settings()
    expansion, resolved = _expanded(matrix, overrides=overrides, known=_resolved_before(settings, sweep_id))
    now = datetime.now(UTC)
    if sweep_id is None:
        sweep_id = unfinished(settings, expansion) or _sweep_id(expansion.name, now)
    elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", sweep_id):
        message = f"{sweep_id!r} is no sweep id: letters, digits, '.', '_' and '-' only."
        raise UserError(message)
    directory = settings.runs / sweep_id
    sweep, blocks = _planned_before(directory, expansion) or plan_blocks(
        expansion,
        sweep_id=sweep_id,
        trigger=trigger,
        planned_at=_planned_at(directory, now=now),
        left_out=_left_out(expansion, settings=settings),
    )
    plan = SweepPlan(
        layout_version=LAYOUT_VERSION,
        sweep=sweep,
        blocks=tuple(block.block_id for block in blocks),
        releases=resolved,
    )
    paths = write_sweep(directory, plan, blocks, workloads=expansion.workloads)
    skipped = sum(len(block.skipped) for block in blocks)
    return {
        "sweep_id": sweep_id,
        "sweep_dir": str(directory),
        "blocks": [str(path) for path in paths],
        "cells": sum(len(s.cells) for block in blocks for s in block.starts if s.position == "arm") + skipped,
        "skipped": skipped,
    }


def _left_out(expansion: Expansion, *, settings: Settings) -> dict[str, str]:
    if expansion.budget_gpu_hours is None:
        return {}
    return beyond(expansion, clock=forecast(expansion, settings=settings).clock, settings=settings)


def _planned_at(directory: Path, *, now: datetime) -> str:
    return read_sweep(directory).sweep.planned_at if (directory / SWEEP_FILE).exists() else now.isoformat()


def _planned_before(directory: Path, expansion: Expansion) -> tuple[Sweep, list[Block]] | None:
    """Return the plan that lies there, when it is one of a budget: what is worth measuring has changed since."""
    if expansion.budget_gpu_hours is None or not (directory / SWEEP_FILE).exists():
        return None
    plan = read_sweep(directory)
    if plan.sweep.matrix_hash != expansion.matrix_hash:
        return None
    return plan.sweep, [read_block(directory / block) for block in plan.blocks]


def _resolved_before(settings: Settings, sweep_id: str | None) -> Resolved:
    there = sweep_id is not None and (settings.runs / sweep_id / SWEEP_FILE).exists()
    return read_sweep(settings.runs / str(sweep_id)).releases if there else {}


def unfinished(settings: Settings, expansion: Expansion) -> str | None:
    """Return the newest sweep of the same matrix that has a block without a result; None when there is none."""
    plans = []
    for path in settings.runs.glob(f"{expansion.name}-*/{SWEEP_FILE}"):
        plan = read_sweep(path.parent)
        if plan.sweep.matrix_hash != expansion.matrix_hash or plan.sweep.trigger != "cli":
            continue
        if any(not (path.parent / block / RESULT_FILE).exists() for block in plan.blocks):
            plans.append(plan.sweep)
    return max(plans, key=lambda sweep: sweep.planned_at).sweep_id if plans else None


def _reason(cell: Cell, *, hardware: Hardware | None) -> str | None:
    if cell.engine.external and cell.method.name not in dict(cell.engine.external):
        return f"no external server is named for arm {cell.method.name}"
    return unsupported(
        cell.engine,
        cell.method,
        temperature=cell.temperature,
        sampling=("guided",) if cell.guided else (),
        flags=flags_of(cell.server, engine=cell.engine),
        hardware=hardware,
    )
