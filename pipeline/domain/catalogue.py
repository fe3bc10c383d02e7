"""The metric catalogue: name, unit, formula, and when a metric is undefined. The warehouse's columns follow it."""

from pipeline.domain.client_metrics import CLIENT_METRICS
from pipeline.domain.machine_metrics import MACHINE_METRICS
from pipeline.domain.metric import Metric
from pipeline.domain.server_metrics import SERVER_METRICS

__all__ = ["CATALOGUE", "METRICS", "Metric"]

CATALOGUE: tuple[Metric, ...] = (*CLIENT_METRICS, *SERVER_METRICS, *MACHINE_METRICS)

METRICS: dict[str, Metric] = {metric.name: metric for metric in CATALOGUE}
