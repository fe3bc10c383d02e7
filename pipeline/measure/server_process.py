"""The server's processes while the window ran, and how well they were watched.

`server_cpu_cores` CPU time of the tree over the window / window_s, cores (interpolated between samples; undefined when
a process left the tree: its time left with it). `server_rss_peak_bytes` highest sum of resident memory. Shared pages
count in each process. `telemetry_samples` samples inside the window, `telemetry_errors` questions without an answer.
Undefined without telemetry.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.telemetry import growth, peak, within
from pipeline.measure.window import MeasuredWindow, Metrics


def server_process(window: MeasuredWindow) -> Metrics:
    """Return CPU and memory of the server's process tree, and what telemetry says of itself."""
    inside = within(window)
    told = window.samples is not None
    return {
        "server_cpu_cores": ratio(_cpu_s(window), window.window_s),
        "server_rss_peak_bytes": peak(sample.server_rss_bytes for sample in inside),
        "telemetry_samples": len(inside) if told else None,
        "telemetry_errors": sum(sample.errors for sample in inside) if told else None,
    }


def _cpu_s(window: MeasuredWindow) -> float | None:
    if window.samples is None or window.begin_ns is None or window.end_ns is None:
        return None
    return growth(window.samples, lambda sample: sample.server_cpu_s, begin_ns=window.begin_ns, end_ns=window.end_ns)
