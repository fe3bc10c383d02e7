"""Airflow through its REST API: trigger a DAG, follow its run, read what its tasks returned."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from pipeline.errors import EnvironmentFault, UserError
from pipeline.system.credentials import read_password
from pipeline.system.services import ADMIN

TIMEOUT_S = 15.0
PAGE = 500
FINAL_RUN_STATES = frozenset({"success", "failed"})
PIPELINE_LOGGER = "specwatch"
START_HINT = "Start it with: specwatch up"


class ApiError(EnvironmentFault):
    """The API answered with an error; `status` is the HTTP status and `detail` what it said."""

    def __init__(self, status: int, detail: str, *, path: str) -> None:
        super().__init__(f"Airflow answered {status} to {path}: {detail}")
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class TaskState:
    """One task instance as it is now. `map_index` is -1 for a task that is not mapped; times in seconds."""

    task_id: str
    map_index: int
    label: str | None
    state: str | None  # None: not scheduled yet
    try_number: int
    duration_s: float | None

    @property
    def name(self) -> str:
        """What a person reads: the task, and which block where it is mapped."""
        return self.task_id if self.map_index < 0 else f"{self.task_id}[{self.label or self.map_index}]"


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run and its tasks."""

    dag_id: str
    run_id: str
    state: str  # queued, running, success, failed
    tasks: tuple[TaskState, ...]

    @property
    def failed(self) -> tuple[TaskState, ...]:
        """Tasks that failed themselves, not those behind them."""
        return tuple(task for task in self.tasks if task.state == "failed")


@dataclass(slots=True)
class Airflow:
    """A logged-in client; it logs in again when its token has expired."""

    url: str
    passwords_file: Path
    user: str = ADMIN
    timeout_s: float = TIMEOUT_S
    _token: str | None = field(default=None, repr=False)

    def get(self, path: str, **query: object) -> Any:
        """Return the JSON of a GET on `path` (below /api/v2 unless it starts with a slash)."""
        return self._call("GET", path, query=query)

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Send `body` as JSON and return the answer."""
        return self._call(method, path, body=body)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        route = path if path.startswith("/") else f"/api/v2/{path}"
        if query:
            route += "?" + urllib.parse.urlencode(query, doseq=True)
        for attempt in (1, 2):
            if self._token is None:
                self._token = self._login()
            try:
                return request(self.url + route, method=method, body=body, token=self._token, timeout_s=self.timeout_s)
            except ApiError as error:
                if error.status != HTTPStatus.UNAUTHORIZED or attempt == 2:
                    raise
                self._token = None
        raise AssertionError  # pragma: no cover - the second attempt returns or raises

    def _login(self) -> str:
        credentials = {"username": self.user, "password": read_password(self.passwords_file, user=self.user)}
        answer = request(f"{self.url}/auth/token", method="POST", body=credentials, timeout_s=self.timeout_s)
        return str(answer["access_token"])


def trigger(api: Airflow, dag_id: str, *, conf: Mapping[str, Any], wait_s: float = 60.0) -> str:
    """Start a run of `dag_id` with the parameters `conf` and return its run id.

    Waits up to `wait_s` seconds for a DAG that was not parsed yet. Raises UserError when Airflow refuses the
    parameters or the DAG is paused, EnvironmentFault when it does not know the DAG or cannot be reached.
    """
    dag = _wait_for_dag(api, dag_id, wait_s=wait_s)
    if dag["is_paused"]:
        message = f"{dag_id} is paused, so a run would only queue. Unpause it at {api.url}/dags/{dag_id}"
        raise UserError(message)
    _refuse_unknown_parameters(api, dag_id, conf=conf)
    try:
        run = api.send("POST", f"dags/{dag_id}/dagRuns", {"logical_date": None, "conf": dict(conf)})
    except ApiError as error:
        if error.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
            message = f"{dag_id} refused its parameters: {error.detail}"
            raise UserError(message) from error
        raise
    return str(run["dag_run_id"])


def follow(
    api: Airflow,
    dag_id: str,
    run_id: str,
    *,
    poll_s: float = 1.0,
    patience_s: float = 60.0,
    seen_all: Callable[[RunResult], None] = lambda _: None,
) -> Iterator[TaskState]:
    """Yield every task of the run whenever its state changed, until the run has ended.

    `seen_all` is called with the whole run after each look at it. An api-server that is away for less than
    `patience_s` seconds is waited for.
    """
    seen: dict[tuple[str, int], tuple[str | None, int]] = {}
    answered = time.monotonic()
    while True:
        try:
            now = result(api, dag_id, run_id)
            answered = time.monotonic()
        except EnvironmentFault:
            if time.monotonic() - answered > patience_s:
                raise
            time.sleep(poll_s)
            continue
        for task in now.tasks:
            key, state = (task.task_id, task.map_index), (task.state, task.try_number)
            if seen.get(key) != state and task.state is not None:
                yield task
            seen[key] = state
        seen_all(now)
        if now.state in FINAL_RUN_STATES:
            return
        time.sleep(poll_s)


def result(api: Airflow, dag_id: str, run_id: str) -> RunResult:
    """Return the run as it is now, with the state of each of its tasks."""
    path = f"dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id, safe='')}"
    run = api.get(path)
    tasks: list[TaskState] = []
    while True:
        page = api.get(f"{path}/taskInstances", limit=PAGE, offset=len(tasks), order_by="id")
        tasks += [_task(item) for item in page["task_instances"]]
        if len(tasks) >= page["total_entries"] or not page["task_instances"]:
            break
    return RunResult(dag_id=dag_id, run_id=run_id, state=str(run["state"]), tasks=tuple(tasks))


def returned(
    api: Airflow, dag_id: str, run_id: str, *, task_id: str, key: str = "return_value", map_index: int = -1
) -> Any:
    """Return what a task returned (or pushed under `key`), or None when there is nothing (yet)."""
    run = urllib.parse.quote(run_id, safe="")
    path = f"dags/{dag_id}/dagRuns/{run}/taskInstances/{task_id}/xcomEntries/{key}"
    try:
        return api.get(path, map_index=map_index, deserialize="false", stringify="false")["value"]
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def task_log(api: Airflow, dag_id: str, run_id: str, *, task: TaskState) -> list[str]:
    """Return the lines that a task's latest try logged, without their metadata."""
    return [line for entry in _log(api, dag_id, run_id, task=task) for line in _log_lines(entry)]


def progress_lines(api: Airflow, dag_id: str, run_id: str, *, task: TaskState) -> list[str]:
    """Return only what the pipeline itself reported in a task's latest try."""
    entries = (entry for entry in _log(api, dag_id, run_id, task=task) if isinstance(entry, dict))
    return [str(entry.get("event", "")) for entry in entries if entry.get("logger") == PIPELINE_LOGGER]


def _log(api: Airflow, dag_id: str, run_id: str, *, task: TaskState) -> list[Any]:
    run = urllib.parse.quote(run_id, safe="")
    path = f"dags/{dag_id}/dagRuns/{run}/taskInstances/{task.task_id}/logs/{max(task.try_number, 1)}"
    return list(api.get(path, map_index=task.map_index, full_content="true")["content"])


def request(
    url: str,
    *,
    method: str = "GET",
    body: Mapping[str, Any] | None = None,
    token: str | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Any:
    """Return the JSON answer of one HTTP call. Raises ApiError for an error status, EnvironmentFault without answer."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310 - our own http address
    try:
        with _OPENER.open(call, timeout=timeout_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        path = urllib.parse.urlsplit(url).path
        raise ApiError(error.code, _detail(error.read()), path=path) from error
    except (urllib.error.URLError, OSError, ValueError) as error:
        message = f"Airflow does not answer at {url}: {error}. {START_HINT}"
        raise EnvironmentFault(message) from error


# Loopback is never behind a proxy, whatever the environment says.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _wait_for_dag(api: Airflow, dag_id: str, *, wait_s: float) -> dict[str, Any]:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return dict(api.get(f"dags/{dag_id}"))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            if time.monotonic() > deadline:
                errors = [item["stack_trace"].strip()[-600:] for item in api.get("importErrors")["import_errors"]]
                message = f"Airflow does not know the DAG {dag_id}. " + (
                    "Its file does not import:\n" + "\n".join(errors) if errors else "Is it in the DAG folder?"
                )
                raise EnvironmentFault(message) from error
        time.sleep(0.5)


def _refuse_unknown_parameters(api: Airflow, dag_id: str, *, conf: Mapping[str, Any]) -> None:
    """Airflow ignores a parameter that the DAG does not have; a person who misspelt one would never know."""
    known = api.get(f"dags/{dag_id}/details")["params"] or {}
    if unknown := sorted(set(conf) - set(known)):
        message = f"{dag_id} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        raise UserError(message)


def _task(item: Mapping[str, Any]) -> TaskState:
    return TaskState(
        task_id=item["task_id"],
        map_index=item["map_index"],
        label=item["rendered_map_index"],
        state=item["state"],
        try_number=item["try_number"],
        duration_s=item["duration"],
    )


def _log_lines(entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return [str(entry)]
    event = str(entry.get("event", ""))
    if event.startswith(("::group::", "::endgroup::")):
        return []
    causes = [f"{error['exc_type']}: {error['exc_value']}" for error in entry.get("error_detail") or ()]
    return [event, *causes]


def _detail(body: bytes) -> str:
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:500]
    return detail if isinstance(detail, str) else json.dumps(detail)
