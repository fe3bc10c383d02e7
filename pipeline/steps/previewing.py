"""What a matrix would measure, before anything is spent: every arm's command, its memory, its time. Changes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.domain.block import Block, PlannedStart
from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine
from pipeline.domain.model import Model, ResolvedModel
from pipeline.engines.argv import build
from pipeline.engines.capability import needs
from pipeline.engines.install import InstalledEngine, installed
from pipeline.engines.packages import missing
from pipeline.engines.registry import load_registry
from pipeline.engines.rulings import unread
from pipeline.errors import UserError
from pipeline.models.hub import HUB_ID
from pipeline.models.pair import ratio_warning
from pipeline.models.shapes import gated
from pipeline.plan.estimate import Basis, weight_bytes
from pipeline.plan.fit import Fit, fit
from pipeline.settings import Settings, load_settings
from pipeline.steps.forecasting import Forecast, forecast
from pipeline.steps.planning import SERVED_MODEL, VLLM_PORT, beyond, expand_matrix, plan_blocks

PREFILL_HEAVY = 4  # prompt tokens per output token


@dataclass(frozen=True, slots=True)
class Arm:
    """One server start of a block."""

    start: PlannedStart
    argv: tuple[str, ...]  # empty: its server runs already
    fit: Fit
    seconds: float  # with every repetition


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """One block, and what it is expected to cost."""

    block: Block
    arms: tuple[Arm, ...]
    seconds: float
    basis: Basis
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """A model that the first use fetches from the hub."""

    source: str
    size_bytes: int | None  # of its weights; None where no shape says it
    gated: bool  # only for who accepted its terms


@dataclass(frozen=True, slots=True)
class Preview:
    """A whole plan."""

    name: str
    matrix_hash: str
    accelerator: str | None
    memory_bytes: int | None
    budget_hours: float | None
    blocks: tuple[PlannedBlock, ...]
    installs: tuple[str, ...] = ()  # engine ids that are not here yet
    fetches: tuple[Fetch, ...] = ()

    @property
    def seconds(self) -> float:
        """The time of the whole sweep on one machine, s."""
        return sum(planned.seconds for planned in self.blocks)


def preview(matrix: str, *, overrides: Mapping[str, Any]) -> Preview:
    """Return the plan of the matrix file at path `matrix`. Raises UserError for one that cannot be measured."""
    settings = load_settings()
    expansion = expand_matrix(matrix, overrides=overrides)
    known = forecast(expansion, settings=settings)
    left_out = beyond(expansion, clock=known.clock, settings=settings)
    _, blocks = plan_blocks(expansion, sweep_id="plan", trigger="cli", planned_at="", left_out=left_out)
    accelerator = known.clock.accelerator
    return Preview(
        name=expansion.name,
        matrix_hash=expansion.matrix_hash,
        accelerator=accelerator.name if accelerator else None,
        memory_bytes=accelerator.memory_bytes if accelerator else None,
        budget_hours=expansion.budget_gpu_hours,
        blocks=tuple(_planned(block, known=known, settings=settings) for block in blocks),
        installs=tuple(dict.fromkeys(block.engine.engine_id for block in blocks if _is_to_install(block, settings))),
        fetches=tuple(_fetches(blocks, known=known)),
    )


def _is_to_install(block: Block, settings: Settings) -> bool:
    engine = block.engine
    if not block.starts or engine.python is not None or engine.external:
        return False
    return installed(engine, root=settings.engines) is None


def _fetches(blocks: Sequence[Block], *, known: Forecast) -> Iterator[Fetch]:
    """Every hub model that a start needs and that is not on this machine, once."""
    wanted = (m for b in blocks for start in b.starts for m in (b.target, start.method.draft) if m is not None)
    for model in dict.fromkeys(wanted):
        if HUB_ID.match(model.source) and known.places.get(model) is None:
            size = (
                None if model.weights == "dummy" else weight_bytes(known.shape(model))
            )  # its config and tokenizer only
            yield Fetch(model.source, size, gated=model.source in gated())


def _planned(block: Block, *, known: Forecast, settings: Settings) -> PlannedBlock:
    arms = tuple(_arm(block, start, known=known, settings=settings) for start in block.starts)
    return PlannedBlock(
        block=block,
        arms=arms,
        seconds=sum(arm.seconds for arm in arms),
        basis=known.clock.basis(block),
        warnings=tuple(
            dict.fromkeys(
                (
                    *_engine_warnings(block, settings=settings),
                    *(warning for arm in arms for warning in _warnings(block, arm, known=known)),
                )
            )
        ),
    )


def _engine_warnings(block: Block, *, settings: Settings) -> Iterator[str]:
    engine = block.engine
    if not block.starts:
        return
    if unread(engine.version):
        yield (
            f"{engine.version} is newer than {load_registry().read_up_to}, the last release that the registry knows: "
            "what it refuses is not known"
        )
    if engine.external:
        return
    try:
        found = installed(engine, root=settings.engines)
    except UserError as error:  # the plan may be for another machine
        yield str(error)
        return
    for method in dict.fromkeys(start.method.method for start in block.starts):
        for package in needs(engine, [method]):
            yield from _package_warning(method, package, engine=engine, found=found)


def _package_warning(method: str, package: str, *, engine: Engine, found: InstalledEngine | None) -> Iterator[str]:
    if found is not None and not missing(found, [package]):
        return
    if engine.python is not None:
        yield f"{method} needs {package}, which {engine.python} does not hold: install it there"
    else:
        yield f"{method} needs {package}: it is added to the engine when the block is prepared, which takes a compiler"


def _arm(block: Block, start: PlannedStart, *, known: Forecast, settings: Settings) -> Arm:
    method, server = start.method, start.cells[0].server
    accelerator = known.clock.accelerator
    return Arm(
        start=start,
        argv=() if block.engine.external else _argv(block, start, known=known, settings=settings),
        fit=fit(
            method,
            target=known.shape(block.target),
            draft=known.shape(method.draft) if method.draft else None,
            server=server,
            platform=block.engine.platform,
            memory_bytes=accelerator.memory_bytes if accelerator else None,
        ),
        seconds=known.clock.planned_start_s(start, repetitions=block.repetitions),
    )


def _argv(block: Block, start: PlannedStart, *, known: Forecast, settings: Settings) -> tuple[str, ...]:
    method = start.method
    return build(
        Path(block.engine.python or settings.engines / block.engine.engine_id / "bin" / "python"),
        engine=block.engine,
        target=_placed(block.target, known=known),
        method=method,
        draft=_placed(method.draft, known=known) if method.draft else None,
        server=start.cells[0].server,
        port=settings.vllm_port or VLLM_PORT,
        served_model=SERVED_MODEL,
    )


def _placed(model: Model, *, known: Forecast) -> ResolvedModel:
    """Return the model where it lies, or with its name in angle brackets where it has to be fetched first."""
    place, shape = known.places.get(model), known.shape(model)
    return ResolvedModel(
        model=model,
        path=str(place) if place else f"<{model.source}>",
        revision="not resolved yet",
        layers=shape.layers if shape else None,
        hidden_size=shape.hidden_size if shape else None,
        parameters=shape.parameters if shape else None,
        vocab_size=shape.vocab_size if shape else None,
        tokenizer_hash=None,
    )


def _warnings(block: Block, arm: Arm, *, known: Forecast) -> Iterator[str]:
    method, target = arm.start.method, known.shape(block.target)
    if arm.fit.state == "does not fit":
        yield f"{method.name} does not fit: {arm.fit.reason}"
    if method.draft:
        draft = known.shape(method.draft)
        sizes = ((m.name, s.parameters if s else None) for m, s in ((block.target, target), (method.draft, draft)))
        if warning := ratio_warning(next(sizes), next(sizes), what=method.method):
            yield warning
    for cell in arm.start.cells:
        yield from _cell_warnings(cell, arm.fit, known=known)


def _cell_warnings(cell: Cell, arm: Fit, *, known: Forecast) -> Iterator[str]:
    server, in_flight = cell.server, cell.concurrency or 0
    tokens = cell.prompt_tokens or known.clock.prompt_tokens.get(cell.workload_id, 0)
    if in_flight > server.max_num_seqs:
        yield f"concurrency {in_flight} exceeds max_num_seqs {server.max_num_seqs}: requests would queue"
    if tokens + cell.output_tokens > server.max_model_len:
        yield (
            f"{cell.workload}: about {tokens} prompt tokens and {cell.output_tokens} output tokens exceed "
            f"max_model_len {server.max_model_len}: requests would be refused"
        )
    if tokens >= PREFILL_HEAVY * cell.output_tokens:
        yield (
            f"{cell.workload} is prefill-heavy: about {tokens} prompt tokens for {cell.output_tokens} output tokens; "
            "speculation speeds up decoding only"
        )
    if arm.kv_tokens is not None and in_flight * (tokens + cell.output_tokens) > arm.kv_tokens:
        yield (
            f"{cell.method.name} {cell.workload} {cell.load}: about {in_flight * (tokens + cell.output_tokens)} tokens "
            f"in flight and room for {arm.kv_tokens}: requests would wait for each other"
        )
