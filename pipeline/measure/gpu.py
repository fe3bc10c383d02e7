"""The GPU while the window ran: clocks, heat, memory, and what disturbed it.

Means and peaks of the samples inside the window. `throttled_share` samples whose clocks were held down by heat, a
hardware slowdown or the power brake, 0-1: a fault of the machine. `power_capped_share` by the power limit, 0-1: what a
heavy load does to a card. `foreign_processes` most compute processes seen at once that are not of the server's tree.
Undefined without a GPU, and where NVML does not say; foreign_processes also where NVML names processes by ids of
another namespace, so that ours cannot be told from theirs.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.telemetry import POWER_CAPPED, THROTTLED, average, peak, share, within
from pipeline.measure.window import MeasuredWindow, Metrics


def gpu(window: MeasuredWindow) -> Metrics:
    """Return what the GPU did."""
    inside = within(window)
    return {
        "sm_clock_mean_mhz": average(sample.sm_clock_mhz for sample in inside),
        "memory_clock_mean_mhz": average(sample.memory_clock_mhz for sample in inside),
        "temperature_peak_c": peak(sample.temperature_c for sample in inside),
        "gpu_utilization_mean": ratio(average(sample.gpu_utilization_percent for sample in inside), 100),
        "gpu_memory_peak_bytes": peak(sample.gpu_memory_bytes for sample in inside),
        "throttled_share": share(inside, THROTTLED),
        "power_capped_share": share(inside, POWER_CAPPED),
        "foreign_processes": peak(sample.foreign_processes for sample in inside),
    }
