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


def render() -> str:
    """Return the page."""
    rows = (f"| `{metric.name}` | {metric.unit} | {metric.formula} | {metric.undefined} |" for metric in CATALOGUE)
    return HEAD + "".join(f"{row}\n" for row in rows)
