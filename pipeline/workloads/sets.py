"""The prompt sets that a matrix can name."""

from pipeline.domain.workload import Workload
from pipeline.workloads.creative import CREATIVE
from pipeline.workloads.structured import STRUCTURED

WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in (STRUCTURED, CREATIVE)}
