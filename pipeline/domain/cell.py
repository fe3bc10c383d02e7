"""A cell: one point of the matrix."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pipeline.domain.engine import Engine
from pipeline.domain.identity import short_hash
from pipeline.domain.method import BASELINE, Method
from pipeline.domain.model import Model

Arrival = Literal["closed", "poisson", "fixed"]  # closed: a loop; poisson and fixed: an open loop at a rate

# Factors that came later enter the hash only where they differ from what was measured before they existed: a cell that
# was measured in 2026 keeps its id.
_LATER: dict[str, Any] = {"arrival": "closed", "request_rate": None, "prompt_tokens": None, "guided": False}
_LATER_SETTINGS = ("attention_backend", "kv_cache_memory_bytes", "thinking")  # the same, of the server


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
    attention_backend: str | None = None  # in vLLM's words, such as FLASH_ATTN; None: vLLM chooses
    kv_cache_memory_bytes: int | None = None  # CUDA: alike in every arm; None: what the share of the GPU leaves
    thinking: bool | None = None  # of a target that can think before it answers; None: as its chat template has it

    def as_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object; those that came later only where they are set."""
        return {
            name: value
            for name in self.__slots__
            if (value := getattr(self, name)) is not None or name not in _LATER_SETTINGS
        }


@dataclass(frozen=True, slots=True)
class Cell:
    """Engine x target x method x workload x prompt and output length x temperature x load.

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
    concurrency: int | None  # closed loop: requests in flight; None in an open loop
    seed: int
    arrival: Arrival = "closed"
    request_rate: float | None = None  # open loop: requests sent per second; None in a closed loop
    prompt_tokens: int | None = None  # nominal input length of a workload that comes in lengths; None: as it is
    guided: bool = False  # whether prompts that carry a JSON schema are decoded under it

    def factors(self) -> dict[str, Any]:
        """Return everything that affects the measurement, as a JSON object."""
        return {
            "engine": self.engine.engine_id,
            "target": self.target.as_json(),
            "method": self.method.configuration(),
            "server": self.server.as_json(),
            "workload": self.workload_id,
            "prompts": self.prompts,
            "output_tokens": self.output_tokens,
            "temperature": self.temperature,
            "concurrency": self.concurrency,
            "seed": self.seed,
        } | {name: getattr(self, name) for name, usual in _LATER.items() if getattr(self, name) != usual}

    @property
    def cell_id(self) -> str:
        """The natural key: a hash of the factors."""
        return short_hash(self.factors())

    @property
    def series_id(self) -> str:
        """The cell without its engine version: what a trend over versions follows."""
        return short_hash(self.factors() | {"engine": self.engine.kind})

    @property
    def baseline_cell_id(self) -> str:
        """The id of the cell that differs only in having no speculation (its own id for a baseline)."""
        return self.baseline().cell_id

    def baseline(self) -> "Cell":
        """Return the cell that differs only in having no speculation."""
        return replace(self, method=Method(name=BASELINE, method=BASELINE))

    @property
    def workload_id(self) -> str:
        """The natural key of its prompt set."""
        return f"{self.workload}@{self.workload_hash}"

    @property
    def load(self) -> str:
        """What a person reads of the load: `c=4` in a closed loop, `poisson 2/s` in an open one."""
        return f"c={self.concurrency}" if self.arrival == "closed" else f"{self.arrival} {self.request_rate:g}/s"

    @property
    def label(self) -> str:
        """What a person reads in logs and tables."""
        asked = self.workload
        if self.prompt_tokens is not None:
            asked += f" {self.prompt_tokens} in"
        if self.guided:
            asked += " guided"
        return f"{self.engine.version} {self.target.name} {self.method.name} {asked} {self.load}"

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
