"""Airflow in a process of its own, with a SQLite metadata database: its global state never meets other tests.

usage: python -m tests.support.dag_process describe | run DAG CONF_JSON
Prints one JSON line, the last of its output.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

DAGS = Path(__file__).resolve().parents[2] / "dags"
FILES = ("nightly_matrix", "adhoc_matrix", "maintenance")


def describe() -> dict[str, Any]:
    """Import every DAG file; return what policy tests look at."""
    import airflow.sdk  # noqa: F401  # not counted as the file's own parse time

    sys.path.insert(0, str(DAGS))
    found = {}
    for name in FILES:
        began = time.process_time()  # of this process alone: a busy machine changes nothing
        dag = getattr(__import__(name), name)
        seconds = time.process_time() - began
        found[dag.dag_id] = {
            "parse_s": seconds,
            "tags": sorted(dag.tags),
            "doc_md": dag.doc_md,
            "description": dag.description,
            "catchup": dag.catchup,
            "max_active_runs": dag.max_active_runs,
            "timetable": repr(dag.timetable),
            "params": {key: dag.params.get_param(key).schema for key in dag.params},
            "tasks": {task.task_id: _task(task) for task in dag.tasks},
        }
    heavy = [name for name in ("pipeline", "pandas", "great_expectations", "sqlalchemy.orm") if name in sys.modules]
    return {"dags": found, "heavy": heavy, "modules": sorted(n for n in sys.modules if n.startswith("pipeline"))}


def _task(task: Any) -> dict[str, Any]:
    return {
        "queue": task.queue,
        "pool": task.pool,
        "executor": task.executor,
        "retries": task.retries,
        "timeout_s": task.execution_timeout.total_seconds() if task.execution_timeout else None,
        "retry_delay_s": task.retry_delay.total_seconds() if task.retry_delay else None,
        "trigger_rule": getattr(task.trigger_rule, "value", task.trigger_rule),
        "upstream": sorted(task.upstream_task_ids),
        "downstream": sorted(task.downstream_task_ids),
        "mapped": task.is_mapped or task.get_closest_mapped_task_group() is not None,
        "documented": bool(task.doc_md or (task.python_callable.__doc__ if hasattr(task, "python_callable") else "")),
    }


def run(dag_id: str, conf: dict[str, Any]) -> dict[str, Any]:
    """Run a DAG in this process, as `dag.test()` does; return the state of the run and of its tasks."""
    sys.path.insert(0, str(DAGS))
    dag = getattr(__import__(dag_id), dag_id)
    finished = dag.test(run_conf=conf)
    tasks = {f"{ti.task_id}[{ti.map_index}]": str(ti.state) for ti in finished.get_task_instances()}
    return {"state": str(finished.state), "tasks": tasks}


if __name__ == "__main__":
    answer = describe() if sys.argv[1] == "describe" else run(sys.argv[2], json.loads(sys.argv[3]))
    sys.stdout.flush()
    os.write(1, b"\n" + json.dumps(answer).encode() + b"\n")
