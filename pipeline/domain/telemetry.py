"""What the machine did while a window ran: single samples, and what the warehouse keeps of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TelemetrySample:
    """One line of telemetry.jsonl. None: not asked at that moment, or not answered.

    Questions that cost more are asked less often: a GPU's figures ten times a second, processes once, /metrics rarely.
    """

    at_ns: int  # on the clock of the requests
    power_mw: int | None = None
    energy_mj: int | None = None  # since the driver was loaded
    gpu_memory_bytes: int | None = None  # used on the whole GPU
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    gpu_utilization_percent: int | None = None
    clock_reasons: int | None = None  # NVML's bit mask of why clocks are where they are
    foreign_processes: int | None = None  # compute processes on the GPU outside the server's tree
    server_cpu_s: float | None = None  # CPU time of the server's process tree, since its processes began
    server_rss_bytes: int | None = None
    kv_cache_usage: float | None = None  # 0-1
    errors: int = 0  # questions of this moment without an answer


@dataclass(frozen=True, slots=True)
class TelemetryRow:
    """About ten seconds of a repetition's window, as the warehouse keeps them. None: undefined."""

    period: int  # from 0, inside the window
    offset_s: float  # of its begin, from the first send
    duration_s: float
    samples: int
    power_mean_w: float | None
    power_peak_w: float | None
    gpu_memory_peak_bytes: int | None
    sm_clock_mean_mhz: float | None
    memory_clock_mean_mhz: float | None
    temperature_peak_c: float | None
    gpu_utilization_mean: float | None  # 0-1
    throttled_share: float | None  # of samples: heat, hardware slowdown, power brake
    power_capped_share: float | None
    server_cpu_cores: float | None
    server_rss_peak_bytes: int | None
    kv_cache_usage_peak: float | None  # 0-1
