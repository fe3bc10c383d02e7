"""Domain values as rows of the small tables (dimensions, sweep, block, starts, outcomes). Pure."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from packaging.version import InvalidVersion, Version

from pipeline.domain.block import Block, CellOutcome, Interruption
from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine
from pipeline.domain.hardware import Hardware
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import ResolvedModel
from pipeline.domain.server_start import ServerStart
from pipeline.domain.workload import Workload
from pipeline.errors import UserError

Row = dict[str, Any]
NO_START = -1  # start_index of a skipped cell: it belongs to no start, and a key column is never NULL
_BASELINE_METHOD = Method(name=BASELINE, method=BASELINE)
_PHASE = {"a": "1", "b": "2", "rc": "3"}


def version_sort(version: str) -> str:
    """Return text that sorts, byte by byte, as releases do: dev < a < b < rc < final < post; unreadable ones last."""
    try:
        read = Version(version)
    except InvalidVersion:
        return f"~{version}"
    release = ".".join(f"{part:05d}" for part in (*read.release, 0, 0, 0, 0)[:4])
    if read.pre:
        phase = f"{_PHASE[read.pre[0]]}{read.pre[1]:05d}"
    else:
        phase = "0" if read.dev is not None and read.post is None else "4"
    post = "" if read.post is None else f".{read.post + 1:05d}"
    return f"{read.epoch}!{release}.{phase}{post}"


def cells_of(block: Block) -> tuple[Cell, ...]:
    """Return every cell the block names, and the baseline of each, once."""
    named = [cell for start in block.starts for cell in start.cells] + [skip.cell for skip in block.skipped]
    baselines = [replace(cell, method=_BASELINE_METHOD) for cell in named]
    return tuple({cell.cell_id: cell for cell in (*baselines, *named)}.values())


def engine_row(engine: Engine) -> Row:
    """Return the row of an engine."""
    return {
        "engine_id": engine.engine_id,
        "version": engine.version,
        "platform": engine.platform,
        "version_sort": version_sort(engine.version),
    }


def hardware_row(hardware: Hardware) -> Row:
    """Return the row of a kind of machine."""
    return hardware.as_json() | {"hardware_id": hardware.hardware_id, "label": hardware.label}


def model_row(resolved: ResolvedModel) -> Row:
    """Return the row of a model as resolved."""
    return {
        "model_id": resolved.model_id,
        "name": resolved.model.name,
        "source": resolved.model.source,
        "revision": resolved.revision,
        "weights": resolved.model.weights,
        "layers": resolved.layers,
        "hidden_size": resolved.hidden_size,
        "parameters": resolved.parameters,
        "vocab_size": resolved.vocab_size,
    }


def method_row(method: Method) -> Row:
    """Return the row of a speculation method."""
    return {
        "method_id": method.method_id,
        "name": method.name,
        "method": method.method,
        "num_speculative_tokens": method.num_speculative_tokens,
        "draft": method.draft.name if method.draft else None,
        "acceptance": method.acceptance,
        "options": dict(method.options),
    }


def workload_row(workload: Workload) -> Row:
    """Return the row of a prompt set."""
    return {
        "workload_id": workload.workload_id,
        "name": workload.name,
        "category": workload.category,
        "content_hash": workload.content_hash,
        "description": workload.description,
        "prompts": len(workload.prompts),
        "temperature": workload.temperature,
        "output_tokens": workload.output_tokens,
        "output_rule": workload.output_rule,
        "prompt_tokens": workload.prompt_tokens,
        "source": workload.source,
        "revision": workload.revision,
    }


def cell_row(cell: Cell) -> Row:
    """Return the row of a cell."""
    return {
        "cell_id": cell.cell_id,
        "series_id": cell.series_id,
        "baseline_cell_id": cell.baseline_cell_id,
        "engine_id": cell.engine.engine_id,
        "target_name": cell.target.name,
        "weights": cell.target.weights,
        "method_id": cell.method.method_id,
        "method_name": cell.method.name,
        "workload_id": cell.workload_id,
        "prompts": cell.prompts,
        "output_tokens": cell.output_tokens,
        "temperature": cell.temperature,
        "concurrency": cell.concurrency,
        "seed": cell.seed,
        "server": cell.server.as_json(),
        "arrival": cell.arrival,
        "request_rate": cell.request_rate,
        "prompt_tokens": cell.prompt_tokens,
        "guided": cell.guided,
    }


def sweep_date(block: Block) -> date:
    """Return the day, in UTC, on which the block's sweep was planned."""
    return datetime.fromisoformat(block.sweep.planned_at).astimezone(UTC).date()


def sweep_row(block: Block) -> Row:
    """Return the row of the block's sweep."""
    sweep = block.sweep
    return {
        "sweep_id": sweep.sweep_id,
        "matrix_name": sweep.matrix_name,
        "matrix_hash": sweep.matrix_hash,
        "planned_at": sweep.planned_at,
        "sweep_date": sweep_date(block).isoformat(),
        "trigger": sweep.trigger,
    }


def block_row(
    block: Block,
    *,
    hardware: Hardware,
    models: Iterable[ResolvedModel],
    completed_at: str | None,
    interruptions: tuple[Interruption, ...],
) -> Row:
    """Return the row of a block; its target is the one of `models` that the plan names."""
    target = next((resolved.model_id for resolved in models if resolved.model == block.target), None)
    return {
        "sweep_id": block.sweep.sweep_id,
        "block_id": block.block_id,
        "engine_id": block.engine.engine_id,
        "target_model_id": target,
        "hardware_id": hardware.hardware_id,
        "repetitions": block.repetitions,
        "completed_at": completed_at,
        "interruptions": len(interruptions),
        "reopened": sum(interruption.reopened for interruption in interruptions),
    }


def block_model_row(block: Block, resolved: ResolvedModel) -> Row:
    """Return the row that says which weights a block loaded."""
    return {
        "sweep_id": block.sweep.sweep_id,
        "block_id": block.block_id,
        "model_id": resolved.model_id,
        "role": "target" if resolved.model == block.target else "draft",
    }


def server_start_row(block: Block, start: ServerStart) -> Row:
    """Return the row of one process of vLLM."""
    planned = {planned.index: planned.method for planned in block.starts}
    return start.facts.as_json() | {
        "sweep_id": block.sweep.sweep_id,
        "block_id": block.block_id,
        "start_index": start.index,
        "attempt": start.attempt,
        "position": start.position,
        "method_name": start.method_name,
        "method_id": planned[start.index].method_id,
        "started_at": start.started_at,
        "ready_s": start.ready_s,
        "argv": list(start.argv),
        "environment": dict(start.environment),
        "failure_class": start.failure.failure_class if start.failure else None,
        "failure_message": start.failure.message if start.failure else None,
        "failure_next_step": start.failure.next_step if start.failure else None,
        "failure_retryable": start.failure.retryable if start.failure else None,
    }


def outcome_row(block: Block, outcome: CellOutcome) -> Row:
    """Return the row of what became of a planned cell."""
    return {
        "sweep_id": block.sweep.sweep_id,
        "block_id": block.block_id,
        "start_index": NO_START if outcome.start_index is None else outcome.start_index,
        "cell_id": outcome.cell_id,
        "status": outcome.status,
        "reason": outcome.reason,
        "failure": outcome.failure,
    }


def require_workloads(block: Block, workloads: Iterable[Workload]) -> None:
    """Raise UserError when a cell uses a prompt set that is not among `workloads` with that content."""
    given = {workload.workload_id for workload in workloads}
    for cell in cells_of(block):
        if (wanted := cell.workload_id) not in given:
            message = (
                f"Block {block.block_id} was measured with workload {wanted}, which is not among those given "
                f"({', '.join(sorted(given)) or 'none'}): load it with the prompt set it was measured with."
            )
            raise UserError(message)
