"""Whether the load client kept up: its CPU, and how late it sent.

`client_cpu_share` CPU time of all its processes / (window_s x processes), of a core each;
`client_busiest_core_share` the same of its busiest process alone. Above 0.7 it may be the bottleneck.
`send_delay_mean_ms` mean of sent - scheduled, ms. Undefined where it was not recorded. Source: the
client's records and facts.
"""

from pipeline.measure.ratio import mean, ratio
from pipeline.measure.window import MeasuredWindow, Metrics


def client(window: MeasuredWindow) -> Metrics:
    """Return the client's load and lateness."""
    facts = window.client
    return {
        "client_cpu_share": ratio(ratio(facts.cpu_s, window.window_s), facts.processes) if facts else None,
        "client_busiest_core_share": facts.busiest_core_share if facts else None,
        "send_delay_mean_ms": mean([(record.sent_ns - record.scheduled_ns) / 1e6 for record in window.records]),
    }
