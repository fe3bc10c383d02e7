"""A sweep in the warehouse as the pages meet it: two workloads, two methods, two concurrencies. Loaded as any other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipeline.domain.block import Block, CellOutcome, PlannedStart
from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine as Release
from pipeline.domain.hardware import Hardware
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.domain.verdict import Verdict
from pipeline.domain.workload import Workload
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build

STRUCTURED = build.WORKLOAD
CREATIVE = replace(STRUCTURED, name="creative", category="creative", description="poetry")
DRAFT = Method(
    name="draft-k3",
    method="draft_model",
    num_speculative_tokens=3,
    draft=Model(name="tiny-draft", source="embedded:tiny-draft"),
)
CPU = replace(build.CPU, host_cpu="Test CPU", name="Test CPU")
GPU = replace(build.GPU, name="NVIDIA Test Blackwell")
# (method, workload, concurrency) -> latency speedup; every interval is the estimate -10% and +10%.
ESTIMATES: Mapping[tuple[str, str, int], float] = {
    ("ngram-k4", "structured", 1): 1.62,  # [1.46, 1.78]: worth it
    ("ngram-k4", "structured", 4): 1.40,  # [1.26, 1.54]: worth it
    ("ngram-k4", "creative", 1): 1.10,  # [0.99, 1.21]: undecided
    ("ngram-k4", "creative", 4): 1.00,  # [0.90, 1.10]: undecided
    ("draft-k3", "structured", 1): 0.90,  # [0.81, 0.99]: harmful
    ("draft-k3", "structured", 4): 0.85,  # harmful
    ("draft-k3", "creative", 1): 0.80,  # harmful
    ("draft-k3", "creative", 4): 0.75,  # harmful
}
FAILED = ("draft-k3", "creative", 4)
FAILURE = "out_of_memory: the server ran out of *memory* [rank0]"


def cell(method: Method, workload: Workload, concurrency: int, *, release: Release) -> Cell:
    """Return one cell of the sweep."""
    plain = build.cell(method, engine=release, concurrency=concurrency)
    return replace(plain, workload=workload.name, workload_hash=workload.content_hash)


def put_sweep(
    url: str,
    *,
    sweep_id: str = "s1",
    day: int = 1,
    version: str = "0.32.0",
    hardware: Hardware = CPU,
    factor: float = 1.0,
    failed: Sequence[tuple[str, str, int]] = (),
) -> None:
    """Load, publish and conclude a sweep; `factor` multiplies every speedup, `failed` cells were not measured."""
    release = Release(version=version, platform="cpu" if hardware.kind == "cpu" else "cuda")
    block = _block(sweep_id, day=day, release=release)
    cells = {
        (method.name, workload.name, concurrency): cell(method, workload, concurrency, release=release)
        for method in (build.NGRAM, DRAFT)
        for workload in (STRUCTURED, CREATIVE)
        for concurrency in (1, 4)
    }
    lost = {cells[key].cell_id for key in failed}
    engine = open_warehouse(url)
    publish(engine, stage(engine, _without(build.block_load(block, hardware=hardware), lost=lost)))
    estimates = {cells[key].cell_id: factor * value for key, value in ESTIMATES.items() if key not in failed}
    write_derived(
        engine,
        sweep_id,
        speedups=[
            build.speedup(cell_id, sweep_id=sweep_id, hardware=hardware, metric=metric, estimate=estimate)
            for cell_id, estimate in estimates.items()
            for metric in ("latency_speedup", "decode_speedup", "throughput_speedup")
        ],
        verdicts=[
            _verdict(cell_id, sweep_id=sweep_id, hardware=hardware, estimate=value)
            for cell_id, value in estimates.items()
        ],
    )
    engine.dispose()


def _verdict(cell_id: str, *, sweep_id: str, hardware: Hardware, estimate: float) -> Verdict:
    verdict = build.verdict(cell_id, sweep_id=sweep_id, hardware=hardware, estimate=estimate)
    return replace(verdict, verdict="not_worth_it") if verdict.upper < verdict.margin else verdict


def _block(sweep_id: str, *, day: int, release: Release) -> Block:
    plain = build.block(of=build.sweep(sweep_id, day=day), block_id=f"b-{sweep_id}", engine=release)

    def cells_of(method: Method) -> tuple[Cell, ...]:
        return tuple(cell(method, w, c, release=release) for w in (STRUCTURED, CREATIVE) for c in (1, 4))

    return replace(
        plain,
        starts=(
            PlannedStart(0, "opening", build.BASE, cells_of(build.BASE)),
            PlannedStart(1, "arm", build.NGRAM, cells_of(build.NGRAM)),
            PlannedStart(2, "arm", DRAFT, cells_of(DRAFT)),
            PlannedStart(3, "closing", build.BASE, cells_of(build.BASE)),
        ),
    )


def _without(load: BlockLoad, *, lost: set[str]) -> BlockLoad:
    outcomes = tuple(
        CellOutcome(o.start_index, o.cell_id, "failed", FAILURE, "out_of_memory") if o.cell_id in lost else o
        for o in load.outcomes
    )
    return replace(
        load,
        workloads=(STRUCTURED, CREATIVE),
        outcomes=outcomes,
        measurements=tuple(m for m in load.measurements if m.key.cell_id not in lost),
        acceptance=tuple(a for a in load.acceptance if a.key.cell_id not in lost),
        requests=[(key, request) for key, request in load.requests if key.cell_id not in lost],
        directory=f"runs/{load.block.sweep.sweep_id}/{load.block.block_id}",
    )
