"""Telemetry samples -> what the machine did in a window, or in a part of it.

Samples are taken from before the first send until after the last end, so that a cumulative counter (energy, CPU time)
can be read at both ends of the window by interpolation between the samples around them. Everything else is of the
samples inside. Undefined without samples that say it: no GPU, no telemetry, or NVML does not answer.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from pipeline.domain.telemetry import TelemetryRow, TelemetrySample
from pipeline.measure.ratio import defined, mean, ratio
from pipeline.measure.window import MeasuredWindow

Number = TypeVar("Number", int, float)

PERIOD_S = 10.0  # of a row in the warehouse

# NVML's bits (nvmlClocksEventReasons*): a fault of the machine, and the power limit at work.
_SW_POWER_CAP = 0x04
_HW_SLOWDOWN = 0x08
_SW_THERMAL_SLOWDOWN = 0x20
_HW_THERMAL_SLOWDOWN = 0x40
_HW_POWER_BRAKE = 0x80
THROTTLED = _HW_SLOWDOWN | _SW_THERMAL_SLOWDOWN | _HW_THERMAL_SLOWDOWN | _HW_POWER_BRAKE
POWER_CAPPED = _SW_POWER_CAP


def within(window: MeasuredWindow) -> list[TelemetrySample]:
    """Return the samples inside the window."""
    begin_ns, end_ns = window.begin_ns, window.end_ns
    if not window.samples or begin_ns is None or end_ns is None:
        return []
    return [sample for sample in window.samples if begin_ns <= sample.at_ns <= end_ns]


def peak(values: Iterable[Number | None]) -> Number | None:
    """Return the highest value that is known; None when none is."""
    return max(defined(values), default=None)


def average(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None when none is."""
    return mean(defined(values))


def share(samples: Sequence[TelemetrySample], reasons: int) -> float | None:
    """Return the share of samples whose clocks were held down for one of `reasons`; None when none says."""
    masks = defined(sample.clock_reasons for sample in samples)
    return ratio(sum(bool(mask & reasons) for mask in masks), len(masks))


def growth(
    samples: Sequence[TelemetrySample],
    read: Callable[[TelemetrySample], float | None],
    *,
    begin_ns: int,
    end_ns: int,
) -> float | None:
    """Return how much a cumulative counter grew between two moments, interpolated; None unless samples lie around both.

    A counter that fell (the driver was loaded again, a process left the tree) has no growth.
    """
    known = [(sample.at_ns, value) for sample in samples if (value := read(sample)) is not None]
    if not known or not known[0][0] <= begin_ns <= end_ns <= known[-1][0]:
        return None
    times, values = [at for at, _ in known], [value for _, value in known]
    if any(later < earlier for earlier, later in pairwise(values)):
        return None
    first, last = np.interp([begin_ns, end_ns], times, values)
    return float(last - first)


def telemetry_rows(window: MeasuredWindow) -> list[TelemetryRow]:
    """Return the window in periods of ten seconds, the last one shorter; a period without a sample has no row."""
    first_ns, last_ns = window.begin_ns, window.end_ns
    if not window.samples or first_ns is None or last_ns is None:
        return []
    found = []
    period_ns = int(PERIOD_S * 1e9)
    for period, begin_ns in enumerate(range(first_ns, last_ns + 1, period_ns)):
        end_ns = min(begin_ns + period_ns, last_ns)
        inside = [sample for sample in window.samples if begin_ns <= sample.at_ns < max(end_ns, begin_ns + 1)]
        if inside:
            found.append(_row(window, inside, period=period, begin_ns=begin_ns, end_ns=end_ns))
    return found


def _row(
    window: MeasuredWindow, inside: Sequence[TelemetrySample], *, period: int, begin_ns: int, end_ns: int
) -> TelemetryRow:
    duration_s = (end_ns - begin_ns) / 1e9
    cpu_s = growth(window.samples or (), lambda sample: sample.server_cpu_s, begin_ns=begin_ns, end_ns=end_ns)
    return TelemetryRow(
        period=period,
        offset_s=(begin_ns - (window.begin_ns or 0)) / 1e9,
        duration_s=duration_s,
        samples=len(inside),
        power_mean_w=ratio(average(sample.power_mw for sample in inside), 1e3),
        power_peak_w=ratio(peak(sample.power_mw for sample in inside), 1e3),
        gpu_memory_peak_bytes=peak(sample.gpu_memory_bytes for sample in inside),
        sm_clock_mean_mhz=average(sample.sm_clock_mhz for sample in inside),
        memory_clock_mean_mhz=average(sample.memory_clock_mhz for sample in inside),
        temperature_peak_c=peak(sample.temperature_c for sample in inside),
        gpu_utilization_mean=ratio(average(sample.gpu_utilization_percent for sample in inside), 100),
        throttled_share=share(inside, THROTTLED),
        power_capped_share=share(inside, POWER_CAPPED),
        server_cpu_cores=ratio(cpu_s, duration_s),
        server_rss_peak_bytes=peak(sample.server_rss_bytes for sample in inside),
        kv_cache_usage_peak=peak(sample.kv_cache_usage for sample in inside),
    )
