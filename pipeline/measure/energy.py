"""Energy and power of the GPU over the window.

`energy_joules` difference of NVML's total energy counter at the window's two ends, interpolated between samples, J.
`joules_per_output_token` the same / output_tokens. `power_mean_w` energy / window_s, without the counter the mean of
power samples; `power_peak_w` the highest sample. The whole board, idle share included. Undefined without a GPU, and
where NVML does not say (no energy counter before Volta); energy also when no sample lies before and after the window.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.telemetry import average, growth, peak, within
from pipeline.measure.window import MeasuredWindow, Metrics


def energy(window: MeasuredWindow) -> Metrics:
    """Return energy and power."""
    powers = [sample.power_mw for sample in within(window)]
    joules = ratio(_millijoules(window), 1e3)
    sampled = ratio(average(powers), 1e3)
    return {
        "energy_joules": joules,
        "joules_per_output_token": ratio(joules, window.output_tokens),
        "power_mean_w": sampled if joules is None else ratio(joules, window.window_s),
        "power_peak_w": ratio(peak(powers), 1e3),
    }


def _millijoules(window: MeasuredWindow) -> float | None:
    if window.samples is None or window.begin_ns is None or window.end_ns is None:
        return None
    return growth(window.samples, lambda sample: sample.energy_mj, begin_ns=window.begin_ns, end_ns=window.end_ns)
