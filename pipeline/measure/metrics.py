"""One repetition -> the metrics of the catalogue. Undefined is None, never 0 or NaN."""

from collections.abc import Callable, Mapping

from pipeline.domain.measurement import CLIENT_CPU_AT_MOST, DELIVERED_AT_LEAST, THROTTLED_AT_MOST, Fault
from pipeline.measure.acceptance import acceptance
from pipeline.measure.cache import cache
from pipeline.measure.client import client
from pipeline.measure.cost import cost
from pipeline.measure.counts import counts
from pipeline.measure.cross_checks import cross_checks
from pipeline.measure.e2e_latency import e2e_latency
from pipeline.measure.energy import energy
from pipeline.measure.goodput import goodput
from pipeline.measure.gpu import gpu
from pipeline.measure.inter_chunk_latency import inter_chunk_latency
from pipeline.measure.losslessness import losslessness
from pipeline.measure.server_process import server_process
from pipeline.measure.server_times import server_times
from pipeline.measure.speculation_rates import speculation_rates
from pipeline.measure.steady import steady
from pipeline.measure.steps import steps
from pipeline.measure.throughput import throughput
from pipeline.measure.tpot import tpot
from pipeline.measure.ttft import ttft
from pipeline.measure.vram_tax import vram_tax
from pipeline.measure.window import MeasuredWindow, Metrics

FAMILIES: tuple[Callable[[MeasuredWindow], Metrics], ...] = (
    counts,
    throughput,
    ttft,
    e2e_latency,
    tpot,
    inter_chunk_latency,
    steady,
    goodput,
    client,
    losslessness,
    cross_checks,
    steps,
    server_times,
    acceptance,
    speculation_rates,
    cache,
    vram_tax,
    energy,
    gpu,
    server_process,
    cost,
)


def metrics(window: MeasuredWindow) -> Metrics:
    """Return every metric of the catalogue for one window (pipeline.domain.catalogue has the formulas)."""
    return {name: value for family in FAMILIES for name, value in family(window).items()}


def faults(found: Mapping[str, float | int | None]) -> tuple[Fault, ...]:
    """Return what marks a measurement, from its metrics. What could not be seen marks nothing."""
    busiest = max(found["client_cpu_share"] or 0.0, found["client_busiest_core_share"] or 0.0)
    delivered = found["delivered_concurrency"]
    marks: dict[Fault, bool] = {
        "under_delivered": delivered is not None and delivered < DELIVERED_AT_LEAST,
        "client_busy": busiest > CLIENT_CPU_AT_MOST,
        "foreign_process": (found["foreign_processes"] or 0) > 0,
        "throttled": (found["throttled_share"] or 0.0) > THROTTLED_AT_MOST,
    }
    return tuple(fault for fault, holds in marks.items() if holds)
