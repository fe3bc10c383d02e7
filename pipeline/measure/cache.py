"""The KV cache: preemptions, how full it was, and what prefix caching found.

`preemptions` and `prefix_cache_*` are counter differences; `prefix_cache_hit_rate` hits / queries, 0-1, undefined when
nothing was looked up (prefix caching off). `kv_cache_usage_peak` is the highest of the samples that telemetry took of
the gauge in the window, 0-1: a moment between two questions can be higher; undefined without a sample.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.telemetry import peak, within
from pipeline.measure.window import MeasuredWindow, Metrics


def cache(window: MeasuredWindow) -> Metrics:
    """Return what happened to the KV cache."""
    counters = window.counters
    return {
        "preemptions": counters.preemptions,
        "prefix_cache_queries": counters.prefix_cache_queries,
        "prefix_cache_hits": counters.prefix_cache_hits,
        "prefix_cache_hit_rate": ratio(counters.prefix_cache_hits, counters.prefix_cache_queries),
        "kv_cache_usage_peak": peak(sample.kv_cache_usage for sample in within(window)),
    }
