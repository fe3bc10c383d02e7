"""A simulated night as a run directory, written by the project's own writer, and read back by its own reader."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.domain.block import LAYOUT_VERSION, Block, CellOutcome, Sweep
from pipeline.domain.cell import Cell
from pipeline.domain.engine import EngineFacts
from pipeline.domain.server_start import ServerStart
from pipeline.domain.workload import Prompt, Workload
from pipeline.plan.blocks import plan_block
from pipeline.records.block import Host, SweepPlan, append_host, write_result, write_start, write_sweep
from pipeline.records.layout import attempt_directory, repetition_directory
from pipeline.records.repetition import Window, write_repetition
from pipeline.steps.ingesting import load_of
from pipeline.warehouse.load import BlockLoad
from tests.support.night_analysis import aa_log_ratio
from tests.support.night_server import Counters
from tests.support.nights import POSITIONS, Night, NightWindow
from tests.support.values import BASELINE, ENGINE, NGRAM, TARGET, make_cell
from tests.support.warehouse import CPU, RESOLVED

EPOCH_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
DAY_S = 86_400.0
MOST_LENGTHS = 8  # max_tokens: beyond the longest answer that any night draws
LABELS = '{engine="0",model_name="m"}'


def write_night(runs: Path, night: Night, *, seed: int) -> Path:
    """Plan, "measure" and write night number `seed`; return the directory of its block."""
    begins_s = EPOCH_S + seed * DAY_S
    block, workload = _plan(night, seed=seed, begins_s=begins_s)
    plan = SweepPlan(layout_version=LAYOUT_VERSION, sweep=block.sweep, blocks=(block.block_id,))
    (directory,) = write_sweep(runs / block.sweep.sweep_id, plan, [block], workloads=[workload])
    model = replace(RESOLVED, model=TARGET)
    append_host(directory, Host(CPU, (model,), {}, hostname="simulated", recorded_at=_iso(begins_s)))
    for start in block.starts:
        path = attempt_directory(directory, start, 1)
        write_start(path, _start(start.index, start.position, start.method.name, begins_s=begins_s))
    for window in night.windows(seed):
        start = block.starts[window.start_index]
        (cell,) = (cell for cell in start.cells if cell.concurrency == window.concurrency)
        write_repetition(
            repetition_directory(attempt_directory(directory, start, 1), cell.cell_id, window.repetition),
            _window(window, night, begins_s=begins_s),
            start_index=start.index,
            attempt=1,
            position=start.position,
            cell_id=cell.cell_id,
            repetition=window.repetition,
        )
    outcomes = [CellOutcome(s.index, cell.cell_id, "measured") for s in block.starts for cell in s.cells]
    write_result(directory, block, outcomes, [])
    return directory


def _plan(night: Night, *, seed: int, begins_s: float) -> tuple[Block, Workload]:
    prompts = tuple(Prompt(f"p{i}", "json", (("user", f"prompt {i}"),)) for i in range(night.prompts))
    workload = Workload("structured", "structured", "simulated", prompts)
    arms = [
        (method, tuple(_cell(night, workload, method=method, concurrency=c) for c in night.concurrency))
        for method in (BASELINE, NGRAM)
    ]
    block = plan_block(
        arms,
        sweep=Sweep(f"night-{seed:04d}", "simulated", "0", _iso(begins_s), "test"),
        number=1,
        engine=ENGINE,
        target=TARGET,
        repetitions=night.repetitions,
        seed=seed,
        unsupported=lambda _: None,
    )
    assert tuple(start.position for start in block.starts) == POSITIONS
    return block, workload


def _cell(night: Night, workload: Workload, **changes: Any) -> Cell:
    return make_cell(
        workload=workload.name,
        workload_hash=workload.content_hash,
        prompts=night.prompts,
        output_tokens=MOST_LENGTHS * night.output_tokens,
        **changes,
    )


def _start(index: int, position: str, method_name: str, *, begins_s: float) -> ServerStart:
    return ServerStart(
        layout_version=LAYOUT_VERSION,
        index=index,
        attempt=1,
        position=position,
        method_name=method_name,
        argv=("python", "-m", "simulated"),
        environment={},
        started_at=_iso(begins_s),
        ready_s=1.0,
        facts=EngineFacts(vllm_version=ENGINE.version, model_runner="V1"),
    )


def _window(window: NightWindow, night: Night, *, begins_s: float) -> Window:
    at_s = begins_s + window.at_s
    speculative = 0 if window.is_baseline else night.k
    last_ns = max(record.end_ns for record in window.records)
    return Window(
        requests=window.records,
        before=metrics_text(window.before, positions=speculative),
        after=metrics_text(window.after, positions=speculative),
        started_at=_iso(at_s),
        started_at_s=at_s,
        ended_at_s=at_s + last_ns / 1e9,
        origin_ns=0,
        client_cpu_s=0.01,
    )


def metrics_text(counters: Counters, *, positions: int) -> str:
    """Return /metrics of a drained server, with speculation counters if it drafts at `positions` positions."""
    values: dict[str, float] = {
        "num_requests_running": 0,
        "num_requests_waiting": 0,
        "generation_tokens_total": counters.generated_tokens,
        "num_preemptions_total": 0,
        "inter_token_latency_seconds_count": counters.engine_steps,
        "inter_token_latency_seconds_sum": counters.step_seconds,
    }
    lines = [f"vllm:{name}{LABELS} {value!r}" for name, value in values.items()]
    if positions:
        drafts = {
            "num_drafts": counters.drafts,
            "num_draft_tokens": counters.drafted_tokens,
            "num_accepted_tokens": counters.accepted_tokens,
        }
        lines += [f"vllm:spec_decode_{name}_total{LABELS} {value}" for name, value in drafts.items()]
        per_position = (*counters.accepted_per_position, *(0,) * positions)[:positions]
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        lines += [
            f'{name}{{engine="0",model_name="m",position="{p}"}} {accepted}' for p, accepted in enumerate(per_position)
        ]
    return "\n".join(lines) + "\n"


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


Rows = list[dict[str, Any]]


def rows_of(directory: Path) -> tuple[BlockLoad, Rows, Rows]:
    """Read a block's run directory; return its load, and the rows that the warehouse's queries give back of it.

    (cell_measurements, paired_requests) of pipeline.warehouse.queries, as far as the analysis reads them; the e2e test
    compares both with the real ones.
    """
    load, _ = load_of(directory)
    cells = {cell.cell_id: cell for start in load.block.starts for cell in start.cells}
    facts = {(start.index, start.attempt): start.facts for start in load.starts}
    measured: Rows = []
    for m in load.measurements:
        cell, said = cells[m.key.cell_id], facts[m.key.start_index, m.key.attempt]
        measured.append(
            dict(m.metrics)
            | _key(m.key)
            | {
                "position": m.position,
                "faults": list(m.faults),
                "started_at": datetime.fromisoformat(m.started_at).timestamp(),
                "hardware_id": load.hardware.hardware_id,
                "engine_id": cell.engine.engine_id,
                "target_name": cell.target.name,
                "weights": cell.target.weights,
                "baseline_cell_id": cell.baseline_cell_id,
                "is_baseline": cell.method.is_baseline,
                "concurrency": cell.concurrency,
                "model_runner": said.model_runner,
                "async_scheduling": said.async_scheduling,
                "attention_backend": said.attention_backend,
                "kv_cache_tokens": said.kv_cache_tokens,
            }
        )
    named = {"hardware_id": load.hardware.hardware_id}
    requests = [_request(key, row) | named for key, row in load.requests]
    return load, measured, requests


def _request(key: Any, row: Any) -> dict[str, Any]:
    of_key = ("block_id", "start_index", "attempt", "cell_id", "repetition")
    of_row = ("prompt_id", "e2e_latency_ms", "tpot_ms", "output_tokens", "error")
    return {name: getattr(key, name) for name in of_key} | {name: getattr(row, name) for name in of_row}


def _key(key: Any) -> dict[str, Any]:
    return {name: getattr(key, name) for name in key.__slots__}


def aa_rows(measured: Rows, requests: Rows) -> Rows:
    """Return the rows of view noise_floor for one block."""
    found: Rows = []
    first = measured[0]
    for cell_id in sorted({row["cell_id"] for row in measured if row["is_baseline"]}):
        own = [(r["start_index"], r["e2e_latency_ms"], r["output_tokens"]) for r in requests if r["cell_id"] == cell_id]
        found.append(
            {
                "hardware_id": first["hardware_id"],
                "engine_id": first["engine_id"],
                "target": first["target_name"],
                "weights": first["weights"],
                "sweep_id": first["sweep_id"],
                "block_id": first["block_id"],
                "cell_id": cell_id,
                "aa_log_ratio": aa_log_ratio(own),
            }
        )
    return found
