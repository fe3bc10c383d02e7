"""Inter-chunk latency, ms: time between chunks with tokens; and how many tokens a chunk holds.

Under speculation, and whenever a busy server merges, a chunk holds several tokens: this is not inter-token latency and
never called so. Undefined when no request has two chunks. Source: the client's records.
"""

from pipeline.measure.distribution import distribution
from pipeline.measure.ratio import ratio
from pipeline.measure.requests import inter_chunk_ms
from pipeline.measure.window import MeasuredWindow, Metrics


def inter_chunk_latency(window: MeasuredWindow) -> Metrics:
    """Return mean, median and tail of the time between chunks, and tokens a chunk."""
    gaps = [inter_chunk_ms(record) for record in window.good]
    chunks = sum(len(record.chunk_tokens) for record in window.good)
    counted = sum(record.output_tokens or 0 for record in window.good if record.chunk_tokens)
    found = distribution(
        "inter_chunk_latency", [gap for of_one in gaps for gap in of_one], requests=sum(map(bool, gaps))
    )
    return found | {"tokens_per_chunk": ratio(counted, chunks)}
