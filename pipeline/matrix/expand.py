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
from pipeline.matrix.schema import MatrixFile, MethodEntry, ModelEntry

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
    methods = [BASELINE_METHOD, *(_method(e, drafts) for e in matrix.methods if e.method != BASELINE)]
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
                for method in methods
            )
            groups.append(Group(engine=engine, target=target, arms=arms))
    return Expansion(
        name=matrix.name,
        matrix_hash=short_hash(matrix.model_dump(mode="json", exclude={"description"})),
        repetitions=matrix.repetitions,
        seed=matrix.seed,
        groups=tuple(groups),
        workloads=tuple(workloads[name] for name in matrix.workloads),
    )


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
