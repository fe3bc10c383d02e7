"""`specwatch trigger`: a DAG run through Airflow's REST API, followed on the terminal."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.cli.output import Progress, Report, chosen, progress_bar, say, say_json, tell
from pipeline.errors import EXIT_DONE, EXIT_GATE, EnvironmentFault
from pipeline.settings import load_settings
from pipeline.system.airflow_api import Airflow, RunResult, TaskState, follow, progress_lines, result, task_log, trigger
from pipeline.system.layout import Layout
from pipeline.system.state import SystemState, read_state

DAGS = {"nightly": "nightly_matrix", "adhoc": "adhoc_matrix"}
ENDED = ("success", "failed", "up_for_retry")
LOG_LINES = 15
QUEUED_LOOKS = 5  # about as many seconds
REPETITION = re.compile(r"(\d+) of (\d+): (.+?) repetition \d+: ")  # what a block tells of each repetition


def run(arguments: Any) -> int:
    """Trigger and follow."""
    state = running_system()
    conf = chosen(arguments) | ({"matrix": arguments.matrix} if arguments.matrix else {})
    api = Airflow(state.airflow_url, Path(state.passwords_file))
    dag_id = DAGS[arguments.which]
    run_id = trigger(api, dag_id, conf=conf)
    tell(f"run {run_id}: {run_address(state, dag_id, run_id)}")
    if arguments.no_wait:
        say_json({"dag_id": dag_id, "run_id": run_id}) if arguments.json else say(run_id)
        return EXIT_DONE
    ok = watch(api, dag_id, run_id)
    if arguments.json:
        say_json({"dag_id": dag_id, "run_id": run_id, "state": "success" if ok else "failed"})
    return EXIT_DONE if ok else EXIT_GATE


def running_system() -> SystemState:
    """Return the state of this home's system. Raises EnvironmentFault when it is not up."""
    state = read_state(Layout(load_settings().home).state)
    if state is None:
        message = "the system does not run here: specwatch up"
        raise EnvironmentFault(message)
    return state


def run_address(state: SystemState, dag_id: str, run_id: str) -> str:
    """Return the page of a run in Airflow."""
    return f"{state.airflow_url}/dags/{dag_id}/runs/{run_id}"


def watch(api: Airflow, dag_id: str, run_id: str) -> bool:
    """Print every change of a task, and what running tasks report, until the run ends. True when it is green.

    The end of the log of each task that failed is printed, too.
    """
    with progress_bar(dag_id) as (progress, report):
        reports = _Reports(api, dag_id, run_id, report=report, progress=progress)
        for task in follow(api, dag_id, run_id, seen_all=reports.tell_new):
            took = f" after {task.duration_s:.0f} s" if task.duration_s and task.state in ENDED else ""
            again = f" (try {task.try_number})" if task.try_number > 1 else ""
            report(f"{task.name}: {task.state}{took}{again}")
    ended = result(api, dag_id, run_id)
    for task in ended.failed:
        say(f"{task.name} failed; the end of its log:")
        for line in task_log(api, dag_id, run_id, task=task)[-LOG_LINES:]:
            say(f"  {line}")
    return ended.state == "success"


@dataclass(slots=True)
class _Reports:
    """What the tasks of a run have reported, and how much of it was printed."""

    api: Airflow
    dag_id: str
    run_id: str
    report: Report
    progress: Progress | None
    printed: dict[tuple[str, int, int], int] = field(default_factory=dict)
    waited: int = 0
    over: set[tuple[str, int, int]] = field(default_factory=set)

    def tell_new(self, run: RunResult) -> None:
        """Print the new lines of every task that runs, or has ended since the last look."""
        self.waited = self.waited + 1 if run.state == "queued" else 0
        if self.waited == QUEUED_LOOKS:
            self.report("queued: an earlier run of this DAG goes first")
        for task in run.tasks:
            key = (task.task_id, task.map_index, task.try_number)
            if task.state in ("running", *ENDED) and key not in self.over:
                self._tell_task(task, key)
                if task.state in ENDED:
                    self.over.add(key)

    def _tell_task(self, task: TaskState, key: tuple[str, int, int]) -> None:
        with suppress(EnvironmentFault):  # a log that cannot be read now is read at the next look
            lines = progress_lines(self.api, self.dag_id, self.run_id, task=task)
            for line in lines[self.printed.get(key, 0) :]:
                self.report(f"  {line}")
                if self.progress and (told := REPETITION.match(line)):
                    self.progress(int(told[1]), int(told[2]), told[3])
            self.printed[key] = len(lines)
