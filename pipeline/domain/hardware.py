"""The machine a measurement was made on. Found, never planned; kinds are never compared with each other."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipeline.domain.identity import short_hash

HardwareKind = Literal["cpu", "gpu"]

# Fields that came later enter the hash only where they are known: what was recorded before keeps its id.
_LATER = ("power_limit_w", "max_sm_clock_mhz", "max_memory_clock_mhz", "ecc", "mig")


@dataclass(frozen=True, slots=True)
class Hardware:
    """One kind of machine: two hosts with the same values are the same hardware."""

    kind: HardwareKind
    name: str  # GPU product name, or the CPU's model name
    architecture: str | None  # NVML's constant ("blackwell", "hopper"), or the machine (x86_64)
    compute_capability: str | None  # "12.0"; None on CPU
    accelerators: int  # GPUs used; 0 on CPU
    memory_bytes: int | None  # of one GPU, or of the host on CPU
    driver_version: str | None
    cuda_version: str | None
    host_cpu: str
    logical_cpus: int
    power_limit_w: int | None = None  # as enforced; None on CPU, or where NVML does not say
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    ecc: bool | None = None
    mig: bool | None = None  # whether the GPU is in MIG mode: then only a part of it may be ours

    @property
    def hardware_id(self) -> str:
        """The natural key: a hash of every field that is known."""
        later = {name for name in _LATER if getattr(self, name) is None}
        return short_hash({name: value for name, value in asdict(self).items() if name not in later})

    @property
    def label(self) -> str:
        """What a page prints: the kind first, so that a CPU figure is never mistaken."""
        if self.kind == "cpu":
            return f"cpu · {self.host_cpu} · {self.logical_cpus} cores"
        return f"{self.accelerators}x {self.name}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)
