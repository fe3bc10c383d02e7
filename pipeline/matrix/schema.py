"""The matrix file, version 1: what a person may write, checked. Unknown keys are refused."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.domain.engine import version_kind
from pipeline.domain.method import BASELINE, drafting
from pipeline.matrix.factors import (
    ArrivalEntry,
    Entry,
    Guided,
    Name,
    OutputTokens,
    Positive,
    PromptTokens,
    Temperatures,
    differ,
    first_repeated,
)
from pipeline.matrix.fit import misfits
from pipeline.matrix.workload_entry import WorkloadEntry

MATRIX_VERSION = 1


class EngineEntry(Entry):
    """vLLM releases: one (`0.32.0`), `latest`, `last 5`, or a range (`>=0.27,<0.33`).

    `python` names a preinstalled interpreter that holds the one; `external` names servers that run already, arm -> URL:
    their release is asked.
    """

    version: str | None = None
    platform: Literal["cpu", "cuda"]
    python: str | None = None
    external: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_releases(self) -> Self:
        if self.external:
            if self.version or self.python:
                message = "a server that runs already (external) is asked for its version: leave out version and python"
                raise ValueError(message)
            if BASELINE not in self.external:
                message = f"external names no server for the baseline; add `{BASELINE}: URL`"
                raise ValueError(message)
            return self
        if self.version is None:
            message = "version is missing; write a released one, such as '0.32.0', or latest, last 5, '>=0.27,<0.33'"
            raise ValueError(message)
        kind = version_kind(self.version)
        if kind is None:
            message = f"{self.version!r} is not a version; write a released one, such as '0.32.0'"
            raise ValueError(message)
        if self.python and kind != "release":
            message = f"an interpreter (python) holds one release; write its number instead of {self.version!r}"
            raise ValueError(message)
        return self


class ModelEntry(Entry):
    """A target or draft: a path, a hub id, or `embedded:NAME`."""

    name: Name
    source: Annotated[str, Field(min_length=1)]
    revision: str | None = None
    weights: Literal["real", "dummy"] = "real"


class MethodEntry(Entry):
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


class ServerEntry(Entry):
    """Server flags, alike in every arm."""

    max_model_len: Positive = 2048
    max_num_seqs: Positive = 64
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    enforce_eager: bool = False
    prefix_caching: bool = False
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    seed: int = 0
    kv_cache_gib: Positive = 1
    attention_backend: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None  # in vLLM's words
    kv_cache_memory_bytes: Positive | None = None  # alike in every arm
    thinking: bool | None = None  # enable_thinking of the chat template; None: as the template has it


class HardwareEntry(Entry):
    """What the matrix is planned for: not measured with, so it is no factor. Absent: what is found when planning."""

    name: str
    memory_gib: Annotated[float, Field(gt=0)]
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")] | None = None  # asked of the registry
    memory_bandwidth_gb_per_s: Annotated[float, Field(gt=0)] | None = None
    dense_tflops: Annotated[float, Field(gt=0)] | None = None  # 16 bit, without sparsity


class SloEntry(Entry):
    """What a user is promised of one request; goodput counts the requests that keep both. No factor."""

    ttft_ms: Annotated[float, Field(gt=0)]
    tpot_ms: Annotated[float, Field(gt=0)]


class MatrixFile(Entry):
    """One matrix: the factors whose product is measured."""

    version: int
    name: Name
    description: str = ""
    engines: Annotated[list[EngineEntry], Field(min_length=1)]
    targets: Annotated[list[ModelEntry], Field(min_length=1)]
    drafts: list[ModelEntry] = Field(default_factory=list)
    methods: Annotated[list[MethodEntry], Field(min_length=1)]
    workloads: Annotated[list[WorkloadEntry], Field(min_length=1)]
    prompts: Positive
    waves: Positive | None = None  # a closed loop sends at least waves x concurrency prompts, and the set in rounds
    prompt_tokens: PromptTokens | None = None  # nominal input lengths of the workloads that come in lengths
    output_tokens: OutputTokens
    temperature: Temperatures = Field(default=[0.0])
    guided: Guided = Field(default=[False])
    concurrency: list[Positive] = Field(default_factory=list)  # closed loop: requests in flight
    arrivals: list[ArrivalEntry] = Field(default_factory=list)  # open loop
    repetitions: Positive = 1
    seed: int = 0
    server: ServerEntry = ServerEntry()
    slo: SloEntry | None = None  # None: that of pipeline.domain.slo
    hardware: HardwareEntry | None = None
    budget_gpu_hours: Annotated[float, Field(gt=0)] | None = None  # machine time of a sweep; None: all of it

    @field_validator("concurrency")
    @classmethod
    def _names_nothing_twice(cls, value: list[int]) -> list[int]:
        return differ(value)

    @field_validator("engines", "targets", "drafts", "workloads", "arrivals")
    @classmethod
    def _entries_differ(cls, value: list[Any]) -> list[Any]:
        differ([_key(entry) for entry in value])
        return value

    @field_validator("methods")
    @classmethod
    def _arms_differ(cls, value: list[MethodEntry]) -> list[MethodEntry]:
        if twice := first_repeated([entry.arm for entry in value]):
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
        for misfit in misfits(self):
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
                "workloads": [entry.resolve_path(base) for entry in self.workloads],
            }
        )


def _key(entry: Any) -> Any:
    if isinstance(entry, EngineEntry):
        return entry.version, entry.platform
    if isinstance(entry, ArrivalEntry):
        return f"{entry.process} {entry.rate_per_s:g}/s"
    return entry.name
