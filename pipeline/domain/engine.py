"""A vLLM release on a platform, and what its start-up log says about itself."""

from dataclasses import dataclass
from typing import Any, Literal

Platform = Literal["cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Engine:
    """One vLLM release for one platform.

    `python` names a preinstalled interpreter that already holds this vLLM; None means the isolated environment that
    `specwatch engines install` makes. It does not affect the id: the same release measured is the same engine.
    """

    version: str
    platform: Platform
    python: str | None = None

    @property
    def engine_id(self) -> str:
        """The natural key, such as `0.32.0-cpu`."""
        return f"{self.version}-{self.platform}"


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

    def as_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object, every field present."""
        return {name: getattr(self, name) for name in self.__slots__} | {"warnings": list(self.warnings)}
