"""A vLLM release on a platform, and what its start-up log says about itself."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

Platform = Literal["cpu", "cuda"]
VersionKind = Literal["release", "latest", "last", "range"]

LAST = re.compile(r"last ([1-9]\d?)")


def version_kind(text: str) -> VersionKind | None:
    """Return how a matrix names vLLM releases; None for text that names none.

    `0.32.0` is a release, `latest` the newest one, `last 5` the five newest ones, `>=0.27,<0.33` all in that
    range. Only a release that is named may be other than final.
    """
    if text == "latest":
        return "latest"
    if LAST.fullmatch(text):
        return "last"
    try:
        Version(text)
    except InvalidVersion:
        pass
    else:
        return "release"
    try:
        return "range" if len(SpecifierSet(text)) else None
    except InvalidSpecifier:
        return None


@dataclass(frozen=True, slots=True)
class Engine:
    """One vLLM release for one platform.

    `python` names a preinstalled interpreter that already holds this vLLM; None means the isolated environment that
    `specwatch engines install` makes. It does not affect the id: the same release measured is the same engine.

    `external` holds (arm, URL) of servers that run already, one an arm. We did not start them and cannot know their
    flags, so that they are an engine of their own kind, never compared with the ones that we start.
    """

    version: str
    platform: Platform
    python: str | None = None
    external: tuple[tuple[str, str], ...] = ()

    @property
    def engine_id(self) -> str:
        """The natural key, such as `0.32.0-cpu`, or `0.32.0-cpu-external` for servers that run already."""
        return f"{self.version}-{self.kind}"

    @property
    def kind(self) -> str:
        """What a trend over versions holds fixed: the platform, and whether the servers are ours."""
        return f"{self.platform}-external" if self.external else self.platform


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What one server start's log says; None where the log of this version does not say it (never a guess)."""

    vllm_version: str | None = None
    model_runner: str | None = None  # "V1" or "V2"
    async_scheduling: bool | None = None
    attention_backend: str | None = None
    cudagraph_mode: str | None = None
    enforce_eager: bool | None = None
    kv_cache_tokens: int | None = None
    kv_cache_bytes: int | None = None
    max_concurrency: float | None = None
    model_memory_bytes: int | None = None  # weights as loaded, target and draft together
    load_s: float | None = None
    compile_s: float | None = None
    torch_version: str | None = None
    cuda_version: str | None = None
    warnings: tuple[str, ...] = ()
    draft_memory_bytes: int | None = None  # weights of the draft alone
    graph_capture_s: float | None = None  # target's and draft's graphs together
    graph_memory_bytes: int | None = None
    init_s: float | None = None  # profiling, KV cache and warm-up together, as the engine counts it
    jit_compilations: int | None = None  # kernels compiled while requests ran; None where the release does not watch
    warning_kinds: tuple[str, ...] = ()  # what of the warnings changes figures; see engines.startup_log

    def as_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object, every field present."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "warnings": list(self.warnings),
            "warning_kinds": list(self.warning_kinds),
        }
