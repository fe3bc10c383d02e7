"""Inter-chunk latency, ms: time between chunks with tokens; and how many tokens a chunk holds.

Under speculation, and whenever a busy server merges, a chunk holds several tokens: this is not inter-token latency and
never called so. Undefined when no request has two chunks. Source: the client's records.
"""

from array import array

from pipeline.measure.distribution import distribution
from pipeline.measure.ratio import ratio
from pipeline.measure.requests import inter_chunk_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def inter_chunk_latency(window: MeasuredWindow) -> Metrics:
    """Return mean, median and tail of the time between chunks, and tokens a chunk."""
    good = window.good
    gaps = array("d")  # a hundred times as many as requests: 8 bytes each
    for record in good:
        gaps.extend(inter_chunk_ms(record))
    chunks = sum(len(record.chunk_tokens) for record in good)
    counted = sum(record.output_tokens or 0 for record in good if record.chunk_tokens)
    found = distribution("inter_chunk_latency", gaps, requests=sum(len(record.chunk_ns) > 1 for record in good))
    return found | {"tokens_per_chunk": ratio(counted, chunks)}
