"""MatrixFile -> the values of the domain: engines, models, methods and cells."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.domain.cell import Cell, ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.identity import short_hash
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model
from pipeline.domain.workload import Workload
from pipeline.errors import UserError
from pipeline.matrix.schema import HardwareEntry, MatrixFile, MethodEntry, ModelEntry

BASELINE_METHOD = Method(name=BASELINE, method=BASELINE)


@dataclass(frozen=True, slots=True)
class Group:
    """Everything to be measured with one (engine, target): arms in the order of the matrix, the baseline first."""

    engine: Engine
    target: Model
    arms: tuple[tuple[Method, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A matrix as domain values."""

    name: str
    matrix_hash: str
    repetitions: int
    seed: int
    groups: tuple[Group, ...]
    workloads: tuple[Workload, ...]
    hardware: HardwareEntry | None = None
    budget_gpu_hours: float | None = None


def expand(matrix: MatrixFile, *, workloads: Mapping[str, Workload]) -> Expansion:
    """Expand `matrix` into groups of cells, in a stable order.

    Raises UserError when a prompt set is smaller than the matrix asks for.
    """
    for name in matrix.workloads:
        available = len(workloads[name].prompts)
        if matrix.prompts > available:
            message = f"workload {name!r} has {available} prompts, the matrix asks for {matrix.prompts}: lower prompts"
            raise UserError(message)
    server = ServerSettings(**matrix.server.model_dump())
    drafts = {entry.name: _model(entry) for entry in matrix.drafts}
    methods = [
        (BASELINE_METHOD, None),
        *((_method(e, drafts), e.targets) for e in matrix.methods if e.method != BASELINE),
    ]
    groups = []
    for engine_entry in matrix.engines:
        engine = Engine(**engine_entry.model_dump())
        for target in map(_model, matrix.targets):
            arms = tuple(
                (
                    method,
                    tuple(
                        Cell(
                            engine=engine,
                            target=target,
                            method=method,
                            server=server,
                            workload=name,
                            workload_hash=workloads[name].content_hash,
                            prompts=matrix.prompts,
                            output_tokens=matrix.output_tokens,
                            temperature=matrix.temperature,
                            concurrency=concurrency,
                            seed=matrix.seed,
                        )
                        for name in matrix.workloads
                        for concurrency in matrix.concurrency
                    ),
                )
                for method, only in methods
                if only is None or target.name in only
            )
            groups.append(Group(engine=engine, target=target, arms=arms))
    return Expansion(
        name=matrix.name,
        matrix_hash=_hash(matrix),
        repetitions=matrix.repetitions,
        seed=matrix.seed,
        groups=tuple(groups),
        workloads=tuple(workloads[name] for name in matrix.workloads),
        hardware=matrix.hardware,
        budget_gpu_hours=matrix.budget_gpu_hours,
    )


def _hash(matrix: MatrixFile) -> str:
    """Hash what decides which cells there are; a key that came later enters only where it is used."""
    document = matrix.model_dump(mode="json", exclude={"description", "hardware"})
    if document["budget_gpu_hours"] is None:
        del document["budget_gpu_hours"]
    for method in document["methods"]:
        if method["targets"] is None:
            del method["targets"]
    return short_hash(document)


def _model(entry: ModelEntry) -> Model:
    return Model(**entry.model_dump())


def _method(entry: MethodEntry, drafts: Mapping[str, Model]) -> Method:
    return Method(
        name=entry.arm,
        method=entry.method,
        num_speculative_tokens=entry.num_speculative_tokens,
        draft=drafts[entry.draft] if entry.draft else None,
        options=entry.options,
    )
