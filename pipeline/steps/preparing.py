"""The engine and the models of a block, on the machine that measures it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.domain.block import Block
from pipeline.domain.hardware import Hardware
from pipeline.domain.model import Model, ResolvedModel
from pipeline.engines.capability import driver_refusal, needs
from pipeline.engines.install import InstalledEngine, install
from pipeline.engines.packages import add
from pipeline.errors import EnvironmentFault, SpecwatchError
from pipeline.models.pair import check_pair
from pipeline.models.resolve import resolve
from pipeline.records.block import Host, append_host, read_block, read_hosts, write_trouble
from pipeline.settings import Settings, load_settings
from pipeline.telemetry.hardware import find_hardware


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a block is measured with."""

    engine: InstalledEngine
    target: ResolvedModel
    drafts: dict[str, ResolvedModel]  # by name

    @property
    def models(self) -> tuple[ResolvedModel, ...]:
        """Target first, then the drafts by name."""
        return (self.target, *(self.drafts[name] for name in sorted(self.drafts)))


def prepare(block: Block, *, settings: Settings, report: Callable[[str], None]) -> Prepared:
    """Install the engine and resolve every model of `block`. What is there already is reused.

    Raises UserError for a release or model that does not exist, or a draft with another tokenizer; EnvironmentFault
    when the machine cannot.
    """
    engine = complete_engine(block, settings=settings, report=report)

    def resolved(model: Model) -> ResolvedModel:
        return resolve(model, root=settings.models, engine_python=engine.python, report=report)

    target = resolved(block.target)
    drafts: dict[str, ResolvedModel] = {}
    warnings: set[str] = set()
    for method in (start.method for start in block.starts):
        if method.draft is None:
            continue
        if method.draft.name not in drafts:
            drafts[method.draft.name] = resolved(method.draft)
        if (warning := check_pair(target, drafts[method.draft.name], method=method)) and warning not in warnings:
            warnings.add(warning)
            report(f"warning: {warning}")
    return Prepared(engine=engine, target=target, drafts=drafts)


def complete_engine(block: Block, *, settings: Settings, report: Callable[[str], None]) -> InstalledEngine:
    """Install the engine, and what its arms want beside it. An arm whose package cannot be had fails alone."""
    engine = install(block.engine, root=settings.engines, report=report)
    try:
        return add(
            engine,
            needs(block.engine, [start.method.method for start in block.starts]),
            root=settings.engines,
            report=report,
        )
    except EnvironmentFault as error:
        report(f"warning: {error}")
        return engine


def host_of(hardware: Hardware, models: tuple[ResolvedModel, ...], packages: dict[str, str]) -> Host:
    """Return this machine as the place where a block runs."""
    return Host(
        hardware=hardware,
        models=models,
        engine_packages=packages,
        hostname=socket.gethostname(),
        recorded_at=datetime.now(UTC).isoformat(),
    )


@contextmanager
def troubles_kept(directory: Path, *, stage: str) -> Iterator[None]:
    """Keep what stops the block beside its plan: its cells become rows with that reason even if nobody tries again."""
    try:
        yield
    except SpecwatchError as error:
        write_trouble(directory, stage=stage, message=str(error))
        raise


def prepare_block(block_dir: str, *, report: Callable[[str], None]) -> dict[str, Any]:
    """See pipeline.steps.prepare_block."""
    block = read_block(Path(block_dir))
    if not block.starts:
        report(f"block {block.block_id}: every cell is skipped, nothing to prepare")
        return {"block_dir": block_dir, "engine": block.engine.engine_id, "models": []}
    directory = Path(block_dir)
    hardware = find_hardware(wanted=block.engine.platform)
    if not read_hosts(directory):  # so that a block that fails here leaves rows that say where
        append_host(directory, host_of(hardware, (), {}))
    with troubles_kept(directory, stage="prepare"):
        if refusal := driver_refusal(block.engine, driver_version=hardware.driver_version):
            message = f"engine {block.engine.engine_id} cannot run here: {refusal}. Update it, or take another release."
            raise EnvironmentFault(message)
        prepared = prepare(block, settings=load_settings(), report=report)
    return {
        "block_dir": block_dir,
        "engine": prepared.engine.engine.engine_id,
        "models": [f"{model.model.name}@{model.revision}" for model in prepared.models],
    }
