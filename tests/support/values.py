"""Builders of domain values with small numbers; every argument has a default, so a test names only what matters."""

from dataclasses import replace
from typing import Any

from pipeline.domain.block import Block, Sweep
from pipeline.domain.cell import Cell, ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.domain.request import RequestRecord
from pipeline.plan.blocks import plan_block

MS = 1_000_000
ENGINE = Engine(version="0.32.0", platform="cpu")
TARGET = Model(name="tiny", source="/models/tiny")
BASELINE = Method(name="none", method="none")
NGRAM = Method(name="ngram-k4", method="ngram", num_speculative_tokens=4)
DRAFT = Method(
    name="draft-k3", method="draft_model", num_speculative_tokens=3, draft=Model(name="small", source="/models/small")
)
SWEEP = Sweep(
    sweep_id="sweep-1", matrix_name="tiny", matrix_hash="0", planned_at="2026-01-01T00:00:00+00:00", trigger="test"
)


def make_cell(**changes: Any) -> Cell:
    """Return a cell; changes by field name."""
    cell = Cell(
        engine=ENGINE,
        target=TARGET,
        method=NGRAM,
        server=ServerSettings(),
        workload="structured",
        workload_hash="abc",
        prompts=2,
        output_tokens=8,
        temperature=0.0,
        concurrency=1,
        seed=7,
    )
    return replace(cell, **changes)


def make_block(*, methods: tuple[Method, ...] = (NGRAM, DRAFT), repetitions: int = 2, **options: Any) -> Block:
    """Return a planned block of two cells (concurrency 1 and 2) an arm."""
    arms = [(method, tuple(make_cell(method=method, concurrency=c) for c in (1, 2))) for method in (BASELINE, *methods)]
    return plan_block(
        arms,
        sweep=options.get("sweep", SWEEP),
        number=1,
        engine=ENGINE,
        target=TARGET,
        repetitions=repetitions,
        seed=options.get("seed", 7),
        unsupported=options.get("unsupported", lambda cell: None),
    )


def make_record(
    *, sent_ms: float = 0, chunks: tuple[tuple[float, int], ...] = ((10, 1), (20, 2)), **changes: Any
) -> RequestRecord:
    """Return a request sent at `sent_ms` with chunks of (time in ms, cumulative tokens)."""
    times = tuple(int(at * MS) for at, _ in chunks)
    record = RequestRecord(
        index=0,
        prompt_id="p1",
        seed=7,
        scheduled_ns=int(sent_ms * MS),
        sent_ns=int(sent_ms * MS),
        first_chunk_ns=times[0] if times else None,
        last_chunk_ns=times[-1] if times else None,
        end_ns=times[-1] if times else int(sent_ms * MS),
        prompt_tokens=5,
        output_tokens=chunks[-1][1] if chunks else 0,
        chunk_ns=times,
        chunk_tokens=tuple(tokens for _, tokens in chunks),
        finish_reason="length",
        text="a",
    )
    return replace(record, **changes)
