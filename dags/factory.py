"""One shape for every DAG that runs a matrix: plan, a block at a time on the GPU queue, ingest, analyze, gate.

Wiring only. Each task calls one function of `pipeline.steps`, imported inside the task so that parsing stays light.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task, task_group
from airflow.sdk.exceptions import AirflowFailException

MATRICES = Path(__file__).resolve().parents[1] / "matrices"
NVIDIA_DRIVER = Path("/proc/driver/nvidia")  # of the host, also from inside a container
GPU = {"executor": "EdgeExecutor", "queue": "blackwell", "pool": "gpu"}
BLOCK_LABEL = "{{ task.op_kwargs['block_dir'].rstrip('/').rpartition('/')[2] }}"
FINAL_EXIT_CODES = {2, 4}  # a user error or a refused gate: trying again cannot change it
OVERRIDES = (  # what a form may change
    *("methods", "workloads", "concurrencies", "arrivals", "engine_versions", "repetitions"),
    *("prompt_tokens", "output_tokens", "temperatures"),
)


def matrix_dag(
    dag_id: str, *, trigger: str, schedule: Any, params: Mapping[str, Param], description: str, doc_md: str
) -> DAG:
    """Return the DAG `dag_id`: every run is one sweep of the matrix that its parameters name."""
    with DAG(
        dag_id=dag_id,
        schedule=schedule,
        params=dict(params),
        description=description,
        doc_md=doc_md,
        tags=["specwatch", "vllm", trigger],
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        default_args={"owner": "specwatch", "retries": 2, "retry_delay": timedelta(seconds=15)},
    ) as dag:
        blocks = plan(trigger)
        ingested = ingest.expand(block_dir=blocks)
        block.expand(block_dir=blocks) >> ingested
        ingested >> analyze() >> gate()
    return dag


@task
def plan(trigger: str) -> list[str]:
    """Write the plan of this run to its run directory: the blocks, and the cells that are skipped with their reason."""
    from pipeline import steps

    context = get_current_context()
    asked = overrides(context["params"], conf=context["dag_run"].conf or {})
    with final_errors():
        matrix = context["params"]["matrix"]
        planned = steps.plan_sweep(matrix, sweep_id=sweep_id(context["dag_run"]), trigger=trigger, overrides=asked)
    for key in ("sweep_id", "sweep_dir"):
        context["ti"].xcom_push(key=key, value=planned[key])
    return planned["blocks"]  # only a task's return value can be mapped over


@task(**GPU, map_index_template=BLOCK_LABEL, execution_timeout=timedelta(hours=2))
def prepare(block_dir: str) -> None:
    """Install the engine and the models that the block needs."""
    from pipeline import steps

    with final_errors():
        steps.prepare_block(block_dir)


@task(
    **GPU,
    map_index_template=BLOCK_LABEL,
    retries=3,
    retry_delay=timedelta(seconds=5),
    execution_timeout=timedelta(hours=12),
)
def bench(block_dir: str) -> None:
    """Measure the block. A retry resumes after the last complete repetition."""
    from pipeline import steps

    with final_errors():
        steps.bench_block(block_dir)


@task_group
def block(block_dir: str) -> None:
    """What the GPU worker does for one block."""
    prepare(block_dir=block_dir) >> bench(block_dir=block_dir)  # by name: the label reads op_kwargs


@task(
    map_index_template=BLOCK_LABEL,
    trigger_rule="all_done",
    retries=20,  # a database that is down is waited for, most of a night: the run directory stays
    retry_delay=timedelta(seconds=10),
    retry_exponential_backoff=True,
    max_retry_delay=timedelta(minutes=10),
)
def ingest(block_dir: str) -> str:
    """Measure, validate, and publish or quarantine what the block left, also when its bench failed.

    Waits for every block: on a machine without a GPU it would take the cores from the block being measured.
    """
    from pipeline import steps

    with final_errors():
        return steps.ingest_block(block_dir)["load_id"]


@task(trigger_rule="all_done_min_one_success", multiple_outputs=False)
def analyze() -> dict[str, Any]:
    """Speedups with intervals, and verdicts, of whatever was published."""
    from pipeline import steps

    with final_errors():
        return steps.analyze_sweep(from_plan("sweep_id"))


@task(trigger_rule="all_done")
def gate() -> None:
    """Red, naming the cells, unless every planned cell was measured or skipped, and passed. The only leaf."""
    from pipeline import steps

    with final_errors():
        steps.check_sweep(from_plan("sweep_dir"))
    if failed := failed_tasks(get_current_context()):
        raise AirflowFailException(f"every cell passed, but these tasks failed: {', '.join(failed)}")


def default_matrix() -> str:
    """Return the matrix that a run measures unless it is told otherwise: without a GPU, what a CPU can."""
    return "matrices/nightly.yaml" if NVIDIA_DRIVER.exists() else "matrices/smoke.yaml"


def matrices() -> list[str]:
    """Return the matrix files of the repository, as the parameter form offers them."""
    return sorted(f"matrices/{path.name}" for path in MATRICES.glob("*.yaml")) or [default_matrix()]


def overrides(params: Mapping[str, Any], *, conf: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the part of the matrix that a run asks for; an empty field means all of it.

    Airflow ignores a parameter that the DAG does not have, so a misspelt one is refused here.
    """
    if unknown := sorted(set(conf) - set(params)):
        raise AirflowFailException(f"no parameter {', '.join(unknown)}; this DAG has {', '.join(sorted(params))}")
    return {name: params[name] for name in OVERRIDES if params.get(name)} or None


def from_plan(key: str) -> str:
    """Return what the task `plan` of this run pushed under `key`."""
    value = get_current_context()["ti"].xcom_pull(task_ids="plan", key=key)
    if value is None:
        raise AirflowFailException("nothing was planned: see the log of the task plan")
    return value


def sweep_id(dag_run: Any) -> str:
    """Return the id of the run's sweep: the same for every retry and after a clear, so that both resume."""
    digest = hashlib.sha256(f"{dag_run.dag_id}/{dag_run.run_id}".encode()).hexdigest()[:8]
    return f"{dag_run.dag_id.removesuffix('_matrix')}-{dag_run.run_after:%Y%m%d-%H%M%S}-{digest}"


def failed_tasks(context: Mapping[str, Any]) -> list[str]:
    """Return the task instances of this run that failed, or did not run because another one failed."""
    run = context["dag_run"]
    states = context["ti"].get_task_states(dag_id=run.dag_id, run_ids=[run.run_id])[run.run_id]
    return sorted(name for name, state in states.items() if state in {"failed", "upstream_failed"})


@contextmanager
def final_errors() -> Iterator[None]:
    """Turn an error that trying again cannot change into one that Airflow does not retry."""
    try:
        yield
    except Exception as error:
        if getattr(error, "exit_code", None) in FINAL_EXIT_CODES:
            raise AirflowFailException(str(error)) from error
        raise
