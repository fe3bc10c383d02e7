"""Metrics that telemetry gives: power, clocks, the server's processes, and what a token costs."""

from pipeline.domain.metric import Metric

_NO_GPU = "no GPU, no telemetry, or NVML does not say"
_NO_TREE = "no telemetry"

MACHINE_METRICS: tuple[Metric, ...] = (
    Metric(
        "energy_joules",
        "J",
        "difference of NVML's total energy over the window, between samples",
        f"{_NO_GPU}; or no sample before and after the window",
    ),
    Metric(
        "joules_per_output_token", "J/token", "energy_joules / output_tokens", "as energy_joules; or no output token"
    ),
    Metric("power_mean_w", "W", "energy_joules / window_s; without it mean of power samples", _NO_GPU),
    Metric("power_peak_w", "W", "highest power sample", _NO_GPU),
    Metric("sm_clock_mean_mhz", "MHz", "mean of samples", _NO_GPU),
    Metric("memory_clock_mean_mhz", "MHz", "mean of samples", _NO_GPU),
    Metric("temperature_peak_c", "degrees C", "highest sample", _NO_GPU),
    Metric("gpu_utilization_mean", "1", "mean of samples: share of time with a kernel running", _NO_GPU),
    Metric("gpu_memory_peak_bytes", "bytes", "highest sample of memory used on the GPU", _NO_GPU, "count"),
    Metric(
        "throttled_share",
        "1",
        "samples with clocks held down by heat, a hardware slowdown or the power brake / samples: above 0.05 marked",
        _NO_GPU,
    ),
    Metric(
        "power_capped_share",
        "1",
        "samples with clocks held down by the power limit / samples: the load's doing, not marked",
        _NO_GPU,
    ),
    Metric(
        "foreign_processes",
        "processes",
        "most compute processes seen at once on the GPU that are not of the server's tree: above 0 marked",
        f"{_NO_GPU}; or NVML names processes by ids of another namespace",
        "count",
    ),
    Metric(
        "server_cpu_cores",
        "cores",
        "CPU time of the server's process tree in the window / time between its samples",
        _NO_TREE,
    ),
    Metric(
        "server_rss_peak_bytes",
        "bytes",
        "highest sum of resident memory over the server's process tree",
        _NO_TREE,
        "count",
    ),
    Metric("telemetry_samples", "samples", "samples taken inside the window", _NO_TREE, "count"),
    Metric(
        "telemetry_errors",
        "errors",
        "questions that NVML, the process table or /metrics did not answer",
        _NO_TREE,
        "count",
    ),
    Metric(
        "usd_per_gpu_hour", "USD/h", "price of one GPU-hour, as set when it was ingested", "none was stated, or no GPU"
    ),
    Metric(
        "usd_per_million_output_tokens",
        "USD",
        "usd_per_gpu_hour x GPUs x window_s / 3600 / output_tokens x 1e6",
        "no price was stated, no GPU, or no output token",
    ),
)
