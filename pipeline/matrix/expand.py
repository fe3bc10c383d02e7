"""MatrixFile -> the values of the domain: engines, models, methods and cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pipeline.domain.cell import Cell, ServerSettings
from pipeline.domain.engine import Engine, version_kind
from pipeline.domain.identity import short_hash
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model
from pipeline.domain.slo import DEFAULT_SLO, Slo
from pipeline.domain.workload import Workload
from pipeline.matrix.factors import STATED
from pipeline.matrix.fit import Sets, prompts_at, set_misfits
from pipeline.matrix.schema import EngineEntry, HardwareEntry, MatrixFile, MethodEntry, ModelEntry

BASELINE_METHOD = Method(name=BASELINE, method=BASELINE)
# Keys that came later enter the hash only where they are told: a matrix from before keeps its hash.
_LATER: dict[str, Any] = {
    "prompt_tokens": None,
    "guided": False,
    "arrivals": [],
    "budget_gpu_hours": None,
    "waves": None,
    "slo": None,
}


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
    slo: Slo = DEFAULT_SLO
    hardware: HardwareEntry | None = None
    budget_gpu_hours: float | None = None


def expand(matrix: MatrixFile, *, workloads: Sets) -> Expansion:
    """Expand `matrix` into groups of cells, in a stable order.

    `workloads` holds each prompt set that the matrix asks for, by name and nominal length. Raises FactorMisfit when one
    is smaller or longer than the matrix can use.
    """
    for misfit in set_misfits(matrix, workloads):
        raise misfit
    server = ServerSettings(**matrix.server.model_dump())
    drafts = {entry.name: _model(entry) for entry in matrix.drafts}
    methods = [
        (BASELINE_METHOD, None),
        *((_method(e, drafts), e.targets) for e in matrix.methods if e.method != BASELINE),
    ]
    points = list(_points(matrix, workloads))
    groups = []
    for engine_entry in matrix.engines:
        engine = _engine(engine_entry)
        for target in map(_model, matrix.targets):
            arms = tuple(
                (
                    method,
                    tuple(
                        Cell(engine=engine, target=target, method=method, server=server, **point) for point in points
                    ),
                )
                for method, only in methods
                if only is None or target.name in only
            )
            if len(arms) > 1:  # a target that no method is meant for has nothing to compare
                groups.append(Group(engine=engine, target=target, arms=arms))
    return Expansion(
        name=matrix.name,
        matrix_hash=_hash(matrix),
        repetitions=matrix.repetitions,
        seed=matrix.seed,
        groups=tuple(groups),
        workloads=tuple(workloads.values()),
        slo=Slo(**matrix.slo.model_dump()) if matrix.slo else DEFAULT_SLO,
        hardware=matrix.hardware,
        budget_gpu_hours=matrix.budget_gpu_hours,
    )


def _points(matrix: MatrixFile, workloads: Sets) -> Iterator[dict[str, Any]]:
    """What tells the cells of one arm apart: prompt set, lengths, temperature, guided decoding and load.

    A set is hashed once, whatever the number of cells. A factor that a set does not have (a schema) makes no second
    cell, nor does a stated value that is listed as well.
    """
    loads: list[dict[str, Any]] = [
        {"concurrency": concurrency, "prompts": prompts_at(matrix, concurrency)} for concurrency in matrix.concurrency
    ]
    loads += [{"concurrency": None, "arrival": a.process, "request_rate": a.rate_per_s} for a in matrix.arrivals]
    for (name, nominal), workload in workloads.items():
        asked = {
            "workload": name,
            "workload_hash": workload.content_hash,
            "prompts": matrix.prompts,
            "prompt_tokens": nominal,
            "seed": matrix.seed,
        }
        lengths = [workload.output_tokens if value == STATED else value for value in matrix.output_tokens]
        temperatures = [workload.temperature if value == STATED else value for value in matrix.temperature]
        guided = matrix.guided if workload.has_schemas else [False]
        for length, temperature, under_schema, load in product(
            _once(lengths), _once(temperatures), _once(guided), loads
        ):
            yield asked | {"output_tokens": length, "temperature": temperature, "guided": under_schema} | load


def _once(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _hash(matrix: MatrixFile) -> str:
    """Hash what decides which cells there are; a key that came later enters only where it is used."""
    document = matrix.model_dump(mode="json", exclude={"description", "hardware"})
    for method in document["methods"]:
        if method["targets"] is None:
            del method["targets"]
    for engine in document["engines"]:
        if not engine["external"]:
            del engine["external"]
    document["server"] = {name: value for name, value in document["server"].items() if value is not None}
    return short_hash({key: value for key, value in document.items() if key not in _LATER or value != _LATER[key]})


def _engine(entry: EngineEntry) -> Engine:
    if entry.version is None or version_kind(entry.version) != "release":
        message = f"{entry.version!r} is no release number: which releases it names must be resolved before"
        raise ValueError(message)
    return Engine(
        version=entry.version,
        platform=entry.platform,
        python=entry.python,
        external=tuple(sorted(entry.external.items())),
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
