"""Builders: a small block with round numbers, as a loader would find it in a run directory."""

from collections.abc import Sequence
from dataclasses import fields, replace

from pipeline.domain.block import Block, CellOutcome, PlannedStart, SkippedCell, Sweep
from pipeline.domain.cell import Cell, ServerSettings
from pipeline.domain.engine import Engine, EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.measurement import AcceptancePosition, Measurement, RepetitionKey
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model, ResolvedModel
from pipeline.domain.request import RequestRow
from pipeline.domain.server_start import ServerStart
from pipeline.domain.telemetry import TelemetryRow
from pipeline.domain.verdict import Speedup, Verdict
from pipeline.domain.workload import Prompt, Workload
from pipeline.warehouse.load import BlockLoad

PROMPTS = 2
OUTPUT_TOKENS = 10
REPETITIONS = 2
K = 4
ENGINE = Engine(version="0.32.0", platform="cpu")
TARGET = Model(name="tiny", source="embedded:tiny")
BASE = Method(name=BASELINE, method=BASELINE)
NGRAM = Method(name="ngram-k4", method="ngram", num_speculative_tokens=K)
CPU = Hardware(
    kind="cpu",
    name="Test CPU",
    architecture="x86_64",
    compute_capability=None,
    accelerators=0,
    memory_bytes=8 * 2**30,
    driver_version=None,
    cuda_version=None,
    host_cpu="Test CPU",
    logical_cpus=2,
)
GPU = replace(CPU, kind="gpu", name="Test GPU", architecture="blackwell", compute_capability="12.0", accelerators=1)
WORKLOAD = Workload(
    name="structured",
    category="structured",
    description="JSON, SQL and code",
    prompts=tuple(Prompt(f"p{i}", "json", (("user", f"prompt {i}"),)) for i in range(PROMPTS)),
)
RESOLVED = ResolvedModel(
    model=TARGET,
    path="models/tiny",
    revision="sha256:1234",
    layers=2,
    hidden_size=8,
    parameters=1000,
    vocab_size=100,
    tokenizer_hash="abcd",
)
METRICS: dict[str, float | int | None] = {
    "requests": PROMPTS,
    "failed_requests": 0,
    "prompt_tokens": 8,
    "output_tokens": PROMPTS * OUTPUT_TOKENS,
    "window_s": 2.0,
    "output_tokens_per_s": 10.0,
    "requests_per_s": 1.0,
    "ttft_mean_ms": 100.0,
    "ttft_median_ms": 100.0,
    "e2e_latency_mean_ms": 1000.0,
    "e2e_latency_median_ms": 1000.0,
    "tpot_mean_ms": 100.0,
    "tpot_median_ms": 100.0,
    "inter_chunk_latency_mean_ms": 100.0,
    "tokens_per_chunk": 1.0,
    "prefill_share": 0.1,
    "server_output_tokens": PROMPTS * OUTPUT_TOKENS,
    "engine_steps": 18,
    "tokens_per_step": 1.0,
    "step_time_ms": 100.0,
    "preemptions": 0,
    "client_cpu_share": 0.1,
    "token_count_gap": 0,
}
DRAFTED: dict[str, float | int | None] = {  # 6 drafts of 4 tokens, half of them accepted
    "drafts": 6,
    "drafted_tokens": 24,
    "accepted_tokens": 12,
    "acceptance_rate": 0.5,
    "mean_acceptance_length": 3.0,
    "engine_steps": 6,
    "tokens_per_step": 3.0,
    "step_time_ms": 150.0,
}
ACCEPTED_BY_POSITION = (5, 4, 2, 1)


def sweep(sweep_id: str = "s1", *, day: int = 1, trigger: str = "test") -> Sweep:
    """Return a sweep planned on `day` of January 2026."""
    return Sweep(sweep_id, "smoke", "hash", f"2026-01-{day:02d}T02:00:00+00:00", trigger)


def cell(method: Method = NGRAM, *, engine: Engine = ENGINE, concurrency: int = 1, target: Model = TARGET) -> Cell:
    """Return a cell of the small matrix."""
    return Cell(
        engine=engine,
        target=target,
        method=method,
        server=ServerSettings(),
        workload=WORKLOAD.name,
        workload_hash=WORKLOAD.content_hash,
        prompts=PROMPTS,
        output_tokens=OUTPUT_TOKENS,
        temperature=0.0,
        concurrency=concurrency,
        seed=0,
    )


def block(
    *,
    of: Sweep | None = None,
    block_id: str = "b1",
    engine: Engine = ENGINE,
    concurrencies: Sequence[int] = (1,),
    skipped: Sequence[SkippedCell] = (),
    target: Model = TARGET,
) -> Block:
    """Return a block: baseline, ngram, baseline."""
    base = tuple(cell(BASE, engine=engine, concurrency=c, target=target) for c in concurrencies)
    arm = tuple(cell(NGRAM, engine=engine, concurrency=c, target=target) for c in concurrencies)
    return Block(
        layout_version=1,
        sweep=of or sweep(),
        block_id=block_id,
        engine=engine,
        target=target,
        repetitions=REPETITIONS,
        starts=(
            PlannedStart(0, "opening", BASE, base),
            PlannedStart(1, "arm", NGRAM, arm),
            PlannedStart(2, "closing", BASE, base),
        ),
        skipped=tuple(skipped),
    )


def keys(planned: Block) -> list[tuple[PlannedStart, RepetitionKey]]:
    """Return every planned repetition with its start, first attempts."""
    return [
        (start, RepetitionKey(planned.sweep.sweep_id, planned.block_id, start.index, 1, c.cell_id, repetition))
        for start in planned.starts
        for c in start.cells
        for repetition in range(planned.repetitions)
    ]


def measurement(start: PlannedStart, key: RepetitionKey) -> Measurement:
    """Return what METRICS says, and DRAFTED for a speculative arm."""
    drafted = {} if start.method.is_baseline else DRAFTED
    minute = 10 * start.index + key.repetition
    return Measurement(key, start.position, f"2026-01-01T02:{minute:02d}:00+00:00", METRICS | drafted)


def request(index: int, *, e2e_latency_ms: float = 1000.0) -> RequestRow:
    """Return a request of 10 tokens that succeeded."""
    return RequestRow(
        request_index=index,
        prompt_id=f"p{index}",
        seed=index,
        ttft_ms=100.0,
        e2e_latency_ms=e2e_latency_ms,
        tpot_ms=(e2e_latency_ms - 100.0) / (OUTPUT_TOKENS - 1),
        prompt_tokens=4,
        output_tokens=OUTPUT_TOKENS,
        first_chunk_tokens=1,
        chunks=OUTPUT_TOKENS,
        finish_reason="length",
        error=None,
        error_detail=None,
        text_hash="t",
        sent_offset_ms=float(index),
        phase="steady",
    )


def telemetry_row(period: int = 0) -> TelemetryRow:
    """Return a second without a GPU, in which the server kept one and a half cores busy."""
    unknown = dict.fromkeys(field.name for field in fields(TelemetryRow))
    told = {"period": period, "offset_s": float(period), "duration_s": 1.0, "samples": 2, "server_cpu_cores": 1.5}
    return TelemetryRow(**(unknown | told))


def server_start(start: PlannedStart, *, attempt: int = 1) -> ServerStart:
    """Return a start that became ready."""
    return ServerStart(
        layout_version=1,
        index=start.index,
        attempt=attempt,
        position=start.position,
        method_name=start.method.name,
        argv=("vllm", "serve"),
        environment={"SPT_NOENV": "1"},
        started_at=f"2026-01-01T02:{10 * start.index:02d}:00+00:00",
        ready_s=5.0,
        facts=EngineFacts(model_runner="V1", async_scheduling=start.method.is_baseline, warnings=("slow",)),
    )


def block_load(
    planned: Block | None = None, *, closing_factor: float = 1.0, hardware: Hardware = CPU, **changes: object
) -> BlockLoad:
    """Return everything the block's run directory holds; the closing baseline takes `closing_factor` as long."""
    planned = planned or block()
    repetitions = keys(planned)
    load = BlockLoad(
        block=planned,
        hardware=hardware,
        models=(RESOLVED,),
        workloads=(WORKLOAD,),
        starts=tuple(server_start(start) for start in planned.starts),
        outcomes=tuple(CellOutcome(s.index, c.cell_id, "measured") for s in planned.starts for c in s.cells)
        + tuple(CellOutcome(None, skip.cell.cell_id, "skipped", skip.reason) for skip in planned.skipped),
        measurements=tuple(measurement(start, key) for start, key in repetitions),
        acceptance=tuple(
            AcceptancePosition(key, position, accepted, 6)
            for start, key in repetitions
            if not start.method.is_baseline
            for position, accepted in enumerate(ACCEPTED_BY_POSITION)
        ),
        requests=[
            (key, request(index, e2e_latency_ms=1000.0 * (closing_factor if start.position == "closing" else 1)))
            for start, key in repetitions
            for index in range(PROMPTS)
        ],
        directory="runs/s1/b1",
        completed_at="2026-01-01T03:00:00+00:00",
    )
    return replace(load, **changes)


def speedup(
    cell_id: str,
    *,
    sweep_id: str = "s1",
    hardware: Hardware = CPU,
    metric: str = "latency_speedup",
    estimate: float = 2.0,
) -> Speedup:
    """Return a speedup whose interval is 10% of the estimate to each side."""
    return Speedup(
        sweep_id=sweep_id,
        cell_id=cell_id,
        hardware_id=hardware.hardware_id,
        metric=metric,
        estimate=estimate,
        lower=0.9 * estimate,
        upper=1.1 * estimate,
        probability_of_loss=0.01,
        degrees_of_freedom=7.0,
        pairs=PROMPTS,
        dropped_prompts=0,
        arm_starts=1,
        baseline_starts=2,
        prompt_variance=0.001,
        start_variance=0.002,
        start_variance_source="prior",
        baseline_value=100.0,
        speculative_value=100.0 / estimate,
        unit="ms/token",
    )


def verdict(cell_id: str, *, sweep_id: str = "s1", hardware: Hardware = CPU, estimate: float = 2.0) -> Verdict:
    """Return the verdict that goes with `speedup`."""
    return Verdict(
        sweep_id=sweep_id,
        cell_id=cell_id,
        hardware_id=hardware.hardware_id,
        metric="latency_speedup",
        margin=1.05,
        verdict="worth_it" if 0.9 * estimate > 1.05 else "undecided",
        harmful=1.1 * estimate < 1,
        estimate=estimate,
        lower=0.9 * estimate,
        upper=1.1 * estimate,
        probability_of_loss=0.01,
        blocks_to_decide=None,
        aa_log_ratio=0.0,
        reasons=("half of the drafted tokens are accepted",),
    )
