"""A cell: one point of the matrix."""

from dataclasses import dataclass, replace
from typing import Any

from pipeline.domain.engine import Engine
from pipeline.domain.identity import short_hash
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Server flags that are alike in every arm; all are set, because defaults differ between releases."""

    max_model_len: int = 2048
    max_num_seqs: int = 64
    gpu_memory_utilization: float = 0.9
    enforce_eager: bool = False
    prefix_caching: bool = False
    dtype: str = "auto"
    seed: int = 0
    kv_cache_gib: int = 1  # VLLM_CPU_KVCACHE_SPACE; has no effect on CUDA

    def as_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Cell:
    """Engine x target x method x workload x output length x temperature x concurrency.

    Hardware is found, not planned, so it belongs to the measurement.
    """

    engine: Engine
    target: Model
    method: Method
    server: ServerSettings
    workload: str  # name
    workload_hash: str
    prompts: int  # how many of the set, in order
    output_tokens: int  # max_tokens of every request
    temperature: float
    concurrency: int  # requests in flight, closed loop
    seed: int

    def factors(self) -> dict[str, Any]:
        """Return everything that affects the measurement, as a JSON object."""
        return {
            "engine": self.engine.engine_id,
            "target": self.target.as_json(),
            "method": self.method.configuration(),
            "server": self.server.as_json(),
            "workload": f"{self.workload}@{self.workload_hash}",
            "prompts": self.prompts,
            "output_tokens": self.output_tokens,
            "temperature": self.temperature,
            "concurrency": self.concurrency,
            "seed": self.seed,
        }

    @property
    def cell_id(self) -> str:
        """The natural key: a hash of the factors."""
        return short_hash(self.factors())

    @property
    def series_id(self) -> str:
        """The cell without its engine version: what a trend over versions follows."""
        return short_hash(self.factors() | {"engine": self.engine.platform})

    @property
    def baseline_cell_id(self) -> str:
        """The id of the cell that differs only in having no speculation (its own id for a baseline)."""
        return replace(self, method=Method(name=BASELINE, method=BASELINE)).cell_id

    @property
    def label(self) -> str:
        """What a person reads in logs and tables."""
        return f"{self.engine.version} {self.target.name} {self.method.name} {self.workload} c={self.concurrency}"

    def as_json(self) -> dict[str, Any]:
        """Return the factors with ids and names, as written to the run directory."""
        return self.factors() | {
            "cell_id": self.cell_id,
            "series_id": self.series_id,
            "baseline_cell_id": self.baseline_cell_id,
            "method_name": self.method.name,
            "method_id": self.method.method_id,
            "workload_name": self.workload,
        }
