"""One synthetic night as run directories, drawn from recorded requests and written by the project's own writer.

Every request of it is one that samples/ recorded, with the same chunks and tokens, its times stretched by the prompt
and the server start; /metrics is the recorded text with its counters moved on by what the requests add up to. Hardware,
matrix and sweep say `synthetic`.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.domain.block import LAYOUT_VERSION, Block, CellOutcome, Sweep
from pipeline.domain.cell import Cell, ServerSettings
from pipeline.domain.engine import Engine, EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model, ResolvedModel
from pipeline.domain.request import RequestRecord
from pipeline.domain.server_start import ServerStart
from pipeline.domain.workload import Prompt, Workload
from pipeline.plan.blocks import plan_block
from pipeline.records.block import (
    Host,
    SweepPlan,
    append_host,
    current_repetitions,
    write_result,
    write_start,
    write_sweep,
)
from pipeline.records.layout import attempt_directory, repetition_directory
from pipeline.records.repetition import Window, read_window, write_repetition

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
CONCURRENCY = (1, 2, 4, 8, 16)
WORKLOADS = ("structured", "creative")
DRAFT = Model(name="synthetic-draft", source="synthetic:draft")
METHODS = (
    Method(name=BASELINE, method=BASELINE),
    Method(name="draft-k3", method="draft_model", num_speculative_tokens=3, draft=DRAFT),
    Method(name="ngram-k4", method="ngram", num_speculative_tokens=4),
    Method(name="ngram-k4-long", method="ngram", num_speculative_tokens=4, options={"prompt_lookup_max": 8}),
)
HARDWARE = Hardware(
    kind="gpu",
    name="synthetic (bench)",
    architecture="blackwell",
    compute_capability="12.0",
    accelerators=1,
    memory_bytes=96 * 2**30,
    driver_version="synthetic",
    cuda_version="13.0",
    host_cpu="synthetic (bench)",
    logical_cpus=2,
)
Pools = dict[str, list[RequestRecord]]


@dataclass(frozen=True)
class Shape:
    """How large a night is. As it stands: 200 cells in 250 starts of them, 750 repetitions, 150,000 requests."""

    blocks: int = 5
    repetitions: int = 3
    prompts: int = 200
    version: str = "0.45.0"
    last_day: datetime = datetime(2026, 11, 29, 2, tzinfo=UTC)

    @property
    def repetitions_a_night(self) -> int:
        """Repetitions of all cells, baselines twice."""
        return self.blocks * (len(METHODS) + 1) * len(CONCURRENCY) * len(WORKLOADS) * self.repetitions


def write_night(runs: Path, shape: Shape, *, sweep_id: str = "synthetic-bench", seed: int = 7) -> Path:
    """Write one night; return the sweep's directory. A night that is whole there already is left as it is."""
    directory = runs / sweep_id
    sweep = Sweep(sweep_id, "synthetic-bench", "synthetic", shape.last_day.isoformat(), "bench")
    workloads = [
        Workload(
            name,
            name,
            "synthetic",
            tuple(Prompt(f"p{i:04d}", "json", (("user", f"synthetic prompt {i}"),)) for i in range(shape.prompts)),
        )
        for name in WORKLOADS
    ]
    blocks = [_block(number, shape, sweep=sweep, workloads=workloads) for number in range(1, shape.blocks + 1)]
    plan = SweepPlan(LAYOUT_VERSION, sweep, tuple(block.block_id for block in blocks))
    paths = write_sweep(directory, plan, blocks, workloads=workloads)
    pools, metrics = recorded()
    for path, block in zip(paths, blocks, strict=True):
        if not (path / "BLOCK.json").exists():
            _measure(path, block, shape, pools=pools, metrics=metrics, rng=_drawn(f"{seed}/{block.block_id}"))
    return directory


def _drawn(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 - a draw, no secret


def recorded() -> tuple[Pools, str]:
    """Return recorded requests by method, and a recorded /metrics text."""
    pools: Pools = defaultdict(list)
    text = ""
    for block in sorted(SAMPLES.glob("h200-smoke-*/*/block.json")):
        for path, manifest in current_repetitions(block.parent):
            _, window = read_window(path)
            name = next(part.name for part in path.parents if part.parent.name == "starts")
            method = {"none": "none", "draft": "draft_model", "ngram": "ngram"}[name.split("-")[2]]
            pools[method].extend(record for record in window.requests if not record.failed)
            text = window.after if manifest.position == "arm" else text
    return dict(pools), text


def _block(number: int, shape: Shape, *, sweep: Sweep, workloads: Sequence[Workload]) -> Block:
    engine = Engine(version=shape.version, platform="cuda")
    target = Model(name=f"synthetic-{number}", source=f"synthetic:{number}")
    arms = [
        (
            method,
            tuple(
                Cell(
                    engine=engine,
                    target=target,
                    method=method,
                    server=ServerSettings(),
                    workload=workload.name,
                    workload_hash=workload.content_hash,
                    prompts=shape.prompts,
                    output_tokens=128,
                    temperature=0.0,
                    concurrency=concurrency,
                    seed=7,
                )
                for workload in workloads
                for concurrency in CONCURRENCY
            ),
        )
        for method in METHODS
    ]
    return plan_block(
        arms,
        sweep=sweep,
        number=number,
        engine=engine,
        target=target,
        repetitions=shape.repetitions,
        seed=7,
        unsupported=lambda _: None,
    )


def _measure(path: Path, block: Block, shape: Shape, *, pools: Pools, metrics: str, rng: random.Random) -> None:
    begins = shape.last_day + timedelta(hours=int(block.block_id[:2]))
    models = (_resolved(block.target), _resolved(DRAFT))
    append_host(path, Host(HARDWARE, models, {}, hostname="synthetic", recorded_at=begins.isoformat()))
    prompts = [(rng.randrange(10_000), rng.lognormvariate(0, 0.1)) for _ in range(shape.prompts)]
    second = 0
    for start in block.starts:
        attempt = attempt_directory(path, start, 1)
        at = begins + timedelta(seconds=second)
        write_start(
            attempt,
            ServerStart(
                layout_version=LAYOUT_VERSION,
                index=start.index,
                attempt=1,
                position=start.position,
                method_name=start.method.name,
                argv=("synthetic",),
                environment={},
                started_at=at.isoformat(),
                ready_s=40.0,
                facts=EngineFacts(vllm_version=shape.version, model_runner="V1", async_scheduling=True),
            ),
        )
        totals: Counter[str] = Counter()
        level = rng.lognormvariate(0, 0.02)
        pool = pools[start.method.method]
        for cell in start.cells:
            for repetition in range(shape.repetitions):
                second += 2
                at = begins + timedelta(seconds=second)
                served = list(_serve(cell, [(pool[i % len(pool)], f * level) for i, f in prompts], rng=rng))
                before = _metrics(metrics, totals, cell=cell)
                totals.update(_counted(cell, served))
                window = Window(
                    requests=tuple(served),
                    before=before,
                    after=_metrics(metrics, totals, cell=cell),
                    started_at=at.isoformat(),
                    started_at_s=at.timestamp(),
                    ended_at_s=at.timestamp() + served[-1].end_ns / 1e9,
                    origin_ns=0,
                    client_cpu_s=0.01,
                )
                write_repetition(
                    repetition_directory(attempt, cell.cell_id, repetition),
                    window,
                    start_index=start.index,
                    attempt=1,
                    position=start.position,
                    cell_id=cell.cell_id,
                    repetition=repetition,
                )
    outcomes = [CellOutcome(s.index, cell.cell_id, "measured") for s in block.starts for cell in s.cells]
    write_result(path, block, outcomes, [])


def _serve(
    cell: Cell, requests: Sequence[tuple[RequestRecord, float]], *, rng: random.Random
) -> Iterator[RequestRecord]:
    """Yield the recorded requests, stretched, as a closed loop would have sent them."""
    places = [0] * int(cell.concurrency or 1)
    for index, (record, factor) in enumerate(requests):
        place = min(range(len(places)), key=places.__getitem__)
        stretch = factor * rng.lognormvariate(0, 0.015)
        sent = places[place]
        chunks = tuple(sent + int((at - record.sent_ns) * stretch) for at in record.chunk_ns)
        places[place] = end = chunks[-1] + 1
        yield replace(
            record,
            index=index,
            prompt_id=f"p{index:04d}",
            seed=index,
            scheduled_ns=sent,
            sent_ns=sent,
            first_chunk_ns=chunks[0],
            last_chunk_ns=chunks[-1],
            end_ns=end,
            chunk_ns=chunks,
        )


def _counted(cell: Cell, served: Sequence[RequestRecord]) -> dict[str, int]:
    """Return what the server's counters rose by: a chunk is a step, its further tokens are accepted ones."""
    k = cell.method.num_speculative_tokens
    sizes = [
        later - earlier
        for record in served
        for earlier, later in zip(record.chunk_tokens, record.chunk_tokens[1:], strict=False)
    ]
    seconds = sum((r.chunk_ns[-1] - r.chunk_ns[0]) // 1_000_000 for r in served)
    counted = {
        "vllm:generation_tokens_total": sum(record.output_tokens or 0 for record in served),
        "vllm:inter_token_latency_seconds_count": len(sizes),
        "vllm:inter_token_latency_seconds_sum": seconds,  # ms here, s in the text
    }
    if k is None:
        return counted
    accepted = [min(size - 1, k) for size in sizes]
    counted |= {
        "vllm:spec_decode_num_drafts_total": len(sizes),
        "vllm:spec_decode_num_draft_tokens_total": k * len(sizes),
        "vllm:spec_decode_num_accepted_tokens_total": sum(accepted),
    }
    return counted | {f"position {p}": sum(tokens > p for tokens in accepted) for p in range(k)}


def _metrics(text: str, totals: Counter[str], *, cell: Cell) -> str:
    """Return the recorded text with our counters in it; a baseline has none of speculation."""
    values: dict[str, Any] = dict(totals)
    lines = []
    for line in text.splitlines():
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        if "spec_decode" in line:
            continue
        if name in ("vllm:num_requests_running", "vllm:num_requests_waiting"):
            lines.append(f"{line.rpartition(' ')[0]} 0.0")
        elif name.startswith("vllm:inter_token_latency_seconds_") and "bucket" not in name:
            value = values.get(name, 0)
            lines.append(f"{line.rpartition(' ')[0]} {value / 1e3 if name.endswith('sum') else float(value)}")
        elif name == "vllm:generation_tokens_total":
            lines.append(f"{line.rpartition(' ')[0]} {float(values.get(name, 0))}")
        else:
            lines.append(line)
    for name in ("num_drafts", "num_draft_tokens", "num_accepted_tokens") if cell.method.num_speculative_tokens else ():
        full = f"vllm:spec_decode_{name}_total"
        lines += [f"# TYPE {full} counter", f'{full}{{engine="0",model_name="m"}} {float(values.get(full, 0))}']
    per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    for position in range(cell.method.num_speculative_tokens or 0):
        value = float(values.get(f"position {position}", 0))
        lines.append(f'{per_position}{{engine="0",model_name="m",position="{position}"}} {value}')
    return "\n".join(lines) + "\n"


def _resolved(model: Model) -> ResolvedModel:
    return ResolvedModel(
        model=model,
        path="synthetic",
        revision="sha256:synthetic",
        layers=2,
        hidden_size=8,
        parameters=1000,
        vocab_size=100,
        tokenizer_hash="synthetic",
    )
