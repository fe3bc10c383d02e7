"""docs/metrics.md, from the metric catalogue and the kinds of speedup."""

from pipeline.domain.catalogue import CATALOGUE

HEAD = """\
# Metrics

Made by `make docs` from `pipeline/domain/catalogue.py`; change that, not this page. One row a metric of a measurement:
one repetition of one cell, over its measured window. The columns of `warehouse.measurement` have these names. What is
undefined is NULL, never 0 and never NaN. A unit of 1 is a rate or a share, from 0 to 1. A difference of a counter is
after - before of one window, never a total since the start.

| metric | unit | formula | undefined when |
|---|---|---|---|
"""

TAIL = """
By draft position (table `warehouse.acceptance_position`, view `acceptance_profile`): unconditional acceptance =
accepted at the position / drafts, the chance that it holds at all; conditional = accepted at the position / accepted at
the one before (at the first: / drafts). NULL where the denominator is 0. A draft shorter than the position counts as
not held.

Of a server start (table `warehouse.server_start`): bytes of weights of target and draft, KV cache bytes and tokens,
maximum concurrency, seconds of start-up, as its log says. `model_memory_tax_bytes` and `kv_cache_tokens_lost` above
compare them with the baseline's.
"""


def render() -> str:
    """Return the page."""
    rows = (f"| `{metric.name}` | {metric.unit} | {metric.formula} | {metric.undefined} |" for metric in CATALOGUE)
    return HEAD + "".join(f"{row}\n" for row in rows) + TAIL
