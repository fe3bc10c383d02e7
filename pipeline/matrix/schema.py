"""The matrix file, version 1: what a person may write, checked. Unknown keys are refused."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pipeline.domain.method import BASELINE, drafting

MATRIX_VERSION = 1

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=64)]
Positive = Annotated[int, Field(ge=1)]


class FactorMisfit(ValueError):
    """Factors that are each right and do not fit together; `location` leads to the key to change."""

    def __init__(self, text: str, *, location: tuple[str | int, ...]) -> None:
        super().__init__(text)
        self.location = location


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class EngineEntry(_Entry):
    """A vLLM release; `python` names a preinstalled interpreter that holds it."""

    version: str
    platform: Literal["cpu", "cuda"]
    python: str | None = None

    @field_validator("version")
    @classmethod
    def _is_a_version(cls, value: str) -> str:
        try:
            Version(value)
        except InvalidVersion:
            message = f"{value!r} is not a version; write a released one, such as '0.32.0'"
            raise ValueError(message) from None
        return value


class ModelEntry(_Entry):
    """A target or draft: a path, a hub id, or `embedded:NAME`."""

    name: Name
    source: Annotated[str, Field(min_length=1)]
    revision: str | None = None
    weights: Literal["real", "dummy"] = "real"


class MethodEntry(_Entry):
    """One arm. `options` are further keys of vLLM's --speculative-config."""

    name: Name | None = None
    method: Annotated[str, Field(min_length=1)]
    num_speculative_tokens: int | None = None
    draft: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    targets: list[str] | None = None  # only with these targets; None: with every one

    @property
    def arm(self) -> str:
        """The arm's name: as written, or method and k."""
        if self.name:
            return self.name
        if self.method == BASELINE:
            return BASELINE
        return f"{self.method.replace('_', '-')}-k{self.num_speculative_tokens}"

    @model_validator(mode="after")
    def _k_fits_the_method(self) -> Self:
        if self.method == BASELINE:
            if self.num_speculative_tokens is not None or self.draft or self.options:
                message = "the baseline (method none) speculates nothing: it takes no k, draft or options"
                raise ValueError(message)
            return self
        if self.num_speculative_tokens is None:
            message = "num_speculative_tokens is missing; write how many tokens are drafted a step, such as 4"
            raise ValueError(message)
        if self.num_speculative_tokens < 1:
            k = self.num_speculative_tokens
            message = f"num_speculative_tokens is {k}; it must be at least 1 (for no speculation use method none)"
            raise ValueError(message)
        if drafting(self.method) == "model" and not self.draft:
            message = f"method {self.method} needs `draft`, the name of an entry under drafts"
            raise ValueError(message)
        if {"model", "method", "num_speculative_tokens"} & self.options.keys():
            message = "options repeats a key that has a field of its own (method, num_speculative_tokens, draft)"
            raise ValueError(message)
        return self


class ServerEntry(_Entry):
    """Server flags, alike in every arm."""

    max_model_len: Positive = 2048
    max_num_seqs: Positive = 64
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    enforce_eager: bool = False
    prefix_caching: bool = False
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    seed: int = 0
    kv_cache_gib: Positive = 1


class HardwareEntry(_Entry):
    """What the matrix is planned for: not measured with, so it is no factor. Absent: what is found when planning."""

    name: str
    memory_gib: Annotated[float, Field(gt=0)]
    memory_bandwidth_gb_per_s: Annotated[float, Field(gt=0)] | None = None
    dense_tflops: Annotated[float, Field(gt=0)] | None = None  # 16 bit, without sparsity


class MatrixFile(_Entry):
    """One matrix: the factors whose product is measured."""

    version: int
    name: Name
    description: str = ""
    engines: Annotated[list[EngineEntry], Field(min_length=1)]
    targets: Annotated[list[ModelEntry], Field(min_length=1)]
    drafts: list[ModelEntry] = Field(default_factory=list)
    methods: Annotated[list[MethodEntry], Field(min_length=1)]
    workloads: Annotated[list[str], Field(min_length=1)]
    prompts: Positive
    output_tokens: Annotated[int, Field(ge=2)]
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    concurrency: Annotated[list[Positive], Field(min_length=1)]
    repetitions: Positive = 1
    seed: int = 0
    server: ServerEntry = ServerEntry()
    hardware: HardwareEntry | None = None
    budget_gpu_hours: Annotated[float, Field(gt=0)] | None = None  # machine time of a sweep; None: all of it

    @field_validator("concurrency", "workloads")
    @classmethod
    def _names_nothing_twice(cls, value: list[Any]) -> list[Any]:
        if twice := _first_repeated(value):
            message = f"{twice!r} stands there twice"
            raise ValueError(message)
        return value

    @field_validator("engines", "targets", "drafts")
    @classmethod
    def _entries_differ(cls, value: list[Any]) -> list[Any]:
        keys = [(e.version, e.platform) if isinstance(e, EngineEntry) else e.name for e in value]
        if twice := _first_repeated(keys):
            message = f"{twice!r} stands there twice"
            raise ValueError(message)
        return value

    @field_validator("methods")
    @classmethod
    def _arms_differ(cls, value: list[MethodEntry]) -> list[MethodEntry]:
        if twice := _first_repeated([entry.arm for entry in value]):
            message = f"two methods are named {twice!r}; give one of them another name"
            raise ValueError(message)
        told: dict[str, str] = {}
        for entry in value:
            configuration = entry.model_dump_json(exclude={"name"})
            if configuration in told:
                message = f"{told[configuration]!r} and {entry.arm!r} are alike; remove one"
                raise ValueError(message)
            told[configuration] = entry.arm
        if all(entry.method == BASELINE for entry in value):
            message = "only the baseline is listed: there is nothing to compare it with; add a speculation method"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _factors_fit(self) -> Self:
        for misfit in _misfits(self):
            raise misfit
        return self

    def resolve_paths(self, base: Path) -> "MatrixFile":
        """Return the matrix with relative paths taken from `base`, the directory of the file."""

        def model(entry: ModelEntry) -> ModelEntry:
            if not entry.source.startswith((".", "~")):
                return entry
            source = (base / Path(entry.source).expanduser()).resolve()
            return entry.model_copy(update={"source": str(source)})

        def engine(entry: EngineEntry) -> EngineEntry:
            if entry.python is None or "/" not in entry.python:
                return entry
            # absolute(), not resolve(): an interpreter of a virtual environment is a link
            python = (base / Path(entry.python).expanduser()).absolute()
            return entry.model_copy(update={"python": str(python)})

        return self.model_copy(
            update={
                "engines": [engine(e) for e in self.engines],
                "targets": [model(m) for m in self.targets],
                "drafts": [model(m) for m in self.drafts],
            }
        )


def _first_repeated(values: Sequence[Any]) -> Any:
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _unknown_targets(matrix: MatrixFile) -> Iterator[FactorMisfit]:
    known = sorted(model.name for model in matrix.targets)
    for index, entry in enumerate(matrix.methods):
        for target in entry.targets or ():
            if target not in known:
                text = f"method {entry.arm!r} names the target {target!r}; targets lists {known}"
                yield FactorMisfit(text, location=("methods", index, "targets"))


def _misfits(matrix: MatrixFile) -> Iterator[FactorMisfit]:
    yield from _unknown_targets(matrix)
    drafts = {entry.name for entry in matrix.drafts}
    for index, entry in enumerate(matrix.methods):
        if entry.draft and entry.draft not in drafts:
            text = f"method {entry.arm!r} names the draft {entry.draft!r}; drafts lists {sorted(drafts) or 'nothing'}"
            yield FactorMisfit(text, location=("methods", index, "draft"))
        k = entry.num_speculative_tokens or 0
        if k >= matrix.output_tokens:
            text = (
                f"method {entry.arm!r} drafts {k} tokens a step, but a request has only {matrix.output_tokens} output "
                "tokens: lower num_speculative_tokens or raise output_tokens"
            )
            yield FactorMisfit(text, location=("methods", index, "num_speculative_tokens"))
    longest = matrix.server.max_model_len
    if matrix.output_tokens >= longest:
        text = f"output_tokens {matrix.output_tokens} leaves no room for a prompt in server.max_model_len {longest}"
        yield FactorMisfit(text, location=("output_tokens",))
    widest = max(matrix.concurrency)
    if widest > matrix.prompts:
        text = f"concurrency {widest} is never reached with {matrix.prompts} prompts: raise prompts or lower it"
        yield FactorMisfit(text, location=("concurrency",))
    if widest > matrix.server.max_num_seqs:
        text = f"concurrency {widest} exceeds server.max_num_seqs {matrix.server.max_num_seqs}: requests would queue"
        yield FactorMisfit(text, location=("concurrency",))
