"""`specwatch plan`: what a matrix would measure, what it needs and what it takes. Changes nothing."""

import shlex
from collections.abc import Sequence
from typing import Any

from pipeline.cli.output import chosen, duration, progress_bar, say, say_json, table
from pipeline.domain.block import SkippedCell
from pipeline.errors import EXIT_DONE
from pipeline.plan.budget import REASON
from pipeline.plan.fit import GIB, Fit
from pipeline.steps.previewing import Arm, PlannedBlock, Preview, preview


def run(arguments: Any) -> int:
    """Expand, order, print."""
    with progress_bar("planning"):  # a range of releases is asked of the package index
        found = preview(arguments.matrix, overrides=chosen(arguments))
    if arguments.json:
        say_json(_document(found))
        return EXIT_DONE
    _head(found)
    for planned in found.blocks:
        _block(planned)
    _first_use(found)
    _foot(found)
    return EXIT_DONE


def _head(found: Preview) -> None:
    memory = f", {found.memory_bytes / GIB:.0f} GiB" if found.memory_bytes else ""
    where = f"{found.accelerator}{memory}" if found.accelerator else "no GPU is stated (hardware) or found here"
    say(f"matrix {found.name} ({found.matrix_hash}) for {where}")


def _block(planned: PlannedBlock) -> None:
    block = planned.block
    say(
        f"\nblock {block.block_id}{' · dummy weights' if block.target.weights == 'dummy' else ''}: "
        f"{len(block.starts)} server starts, about {duration(planned.seconds)} ({_basis(planned)})"
    )
    if planned.arms:
        rows = [
            (
                *(arm.start.index, arm.start.position, _method(arm), len(arm.start.cells)),
                *(len(arm.start.cells) * block.repetitions, duration(arm.seconds), *_sizes(arm.fit)),
            )
            for arm in planned.arms
        ]
        table(("start", "position", "method", "cells", "repetitions", "time", "weights", "KV room", "memory"), rows)
    for arm in planned.arms:
        if arm.start.position != "closing":  # it is started as the opening one is
            say(f"{arm.start.method.name}: {shlex.join(arm.argv) or 'a server that runs already'}")
    for warning in planned.warnings:
        say(f"warning: {warning}")
    _skipped(block.skipped)


def _method(arm: Arm) -> str:
    synthetic = arm.start.method.acceptance == "synthetic"
    return arm.start.method.name + (" · synthetic acceptance" if synthetic else "")


def _skipped(skipped: Sequence[SkippedCell]) -> None:
    if not skipped:
        return
    table(("skipped cell", "reason"), [(skip.cell.label, skip.reason) for skip in skipped])


def _sizes(found: Fit) -> tuple[str | None, str | None, str]:
    weights = None if found.weight_bytes is None else _gib(found.weight_bytes + (found.draft_bytes or 0))
    room = None if found.room_bytes is None else _gib(found.room_bytes)
    return weights, room, f"{found.state}: {found.reason}"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


def _basis(planned: PlannedBlock) -> str:
    return "as recorded here before" if planned.basis == "recorded" else "an estimate"


def _foot(found: Preview) -> None:
    skipped = [skip for planned in found.blocks for skip in planned.block.skipped]
    beyond = sum(1 for skip in skipped if skip.reason.startswith(REASON))
    left_out = f" ({beyond} of them beyond the budget)" if beyond else ""
    budget = "" if found.budget_hours is None else f" of a budget of {found.budget_hours:g}"
    say(
        f"\n{_cells(found)} speculative cells to measure, {len(skipped)} skipped{left_out}; about "
        f"{duration(found.seconds)} on one machine, {found.seconds / 3600:.2f} {_unit(found)}{budget}"
    )


def _first_use(found: Preview) -> None:
    """Say what is not here yet: it costs time, disk and sometimes a permission before anything is measured."""
    if found.installs:
        say(f"\nto install at first use: {', '.join(found.installs)}")
    for fetch in found.fetches:
        size = f" ({_gib(fetch.size_bytes)})" if fetch.size_bytes is not None else ""
        terms = "; gated: accept its terms on its hub page, then set HF_TOKEN" if fetch.gated else ""
        say(f"to fetch at first use: {fetch.source}{size}{terms}")


def _cells(found: Preview) -> int:
    return sum(
        len(start.cells) for planned in found.blocks for start in planned.block.starts if start.position == "arm"
    )


def _unit(found: Preview) -> str:
    return "GPU-hours" if any(p.block.engine.platform == "cuda" for p in found.blocks) else "machine-hours (CPU)"


def _document(found: Preview) -> dict[str, Any]:
    return {
        "matrix": found.name,
        "matrix_hash": found.matrix_hash,
        "hardware": {"name": found.accelerator, "memory_bytes": found.memory_bytes},
        "budget_hours": found.budget_hours,
        "estimated_s": round(found.seconds),
        "installs": list(found.installs),
        "fetches": [{name: getattr(fetch, name) for name in fetch.__slots__} for fetch in found.fetches],
        "blocks": [_block_document(planned) for planned in found.blocks],
    }


def _block_document(planned: PlannedBlock) -> dict[str, Any]:
    block = planned.block
    return {
        "block_id": block.block_id,
        "engine": block.engine.engine_id,
        "target": block.target.name,
        "estimated_s": round(planned.seconds),
        "basis": planned.basis,
        "warnings": list(planned.warnings),
        "starts": [_arm_document(arm) for arm in planned.arms],
        "skipped": [{"cell": skip.cell.as_json(), "reason": skip.reason} for skip in block.skipped],
    }


def _arm_document(arm: Arm) -> dict[str, Any]:
    return {
        "index": arm.start.index,
        "position": arm.start.position,
        "method": arm.start.method.name,
        "acceptance": arm.start.method.acceptance,
        "argv": list(arm.argv),
        "estimated_s": round(arm.seconds),
        "fit": {name: getattr(arm.fit, name) for name in arm.fit.__slots__},
        "cells": [cell.as_json() for cell in arm.start.cells],
    }
