"""By hand: any matrix, or a part of it, from a form."""

from airflow.sdk import Param
from factory import default_matrix, matrices, matrix_dag

DOC = """
### Measure a part of a matrix now

The same path as `nightly_matrix`, for the matrix and the part of it that the form names. An empty field means all that
the matrix has; names that the matrix does not have are refused by **plan**, before anything is measured.
"""


def names(title: str, description: str) -> Param:
    """A list of names to keep; empty keeps all."""
    items = {"type": "string", "minLength": 1}
    return Param([], type=["null", "array"], items=items, title=title, description=description)


adhoc_matrix = matrix_dag(
    "adhoc_matrix",
    trigger="adhoc",
    schedule=None,
    params={
        "matrix": Param(default_matrix(), type="string", enum=matrices(), title="Matrix"),
        "methods": names("Methods", "Arms to measure, as the matrix names them. The baseline is always measured."),
        "workloads": names("Workloads", "Such as structured, creative."),
        "concurrencies": Param(
            [],
            type=["null", "array"],
            items={"type": "integer", "minimum": 1},
            title="Concurrencies",
            description="Requests in flight. These and the arrivals are the whole load, if one of them is told.",
        ),
        "arrivals": names("Arrivals", "Open loops: poisson:4 or fixed:2, in requests/s."),
        "prompt_tokens": names("Input tokens", "Nominal lengths of the workloads that come in lengths, such as 4096."),
        "output_tokens": names("Output tokens", "Most tokens of an answer, such as 128; stated: the workload's own."),
        "temperatures": names("Temperatures", "Such as 0; stated: the workload's own."),
        "engine_versions": names("vLLM versions", "Such as 0.32.0."),
        "repetitions": Param(
            None, type=["null", "integer"], minimum=1, title="Repetitions", description="Of each cell, in each server."
        ),
    },
    description="Measure a matrix, or a part of it, now",
    doc_md=DOC,
)
