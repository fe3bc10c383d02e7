"""A server that answers as Airflow's REST API does, what a test tells it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RUN_ID = "manual__1"


class FakeAirflow:
    """Answers by (method, path): a list of (status, body), the last one again and again."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        self.logins = 0
        self.sent: list[Any] = []
        self.say("GET", "/api/v2/dags/nightly_matrix", {"is_paused": False})
        self.say("GET", "/api/v2/dags/nightly_matrix/details", {"params": {"matrix": {}}})

    def say(self, method: str, path: str, *bodies: Any, status: int = 200) -> None:
        self.answers[method, path] = [(status, body) for body in bodies]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/auth/token":
            self.logins += 1
            return 201, {"access_token": f"token-{self.logins}"}
        self.sent.append(body)
        queue = self.answers.get((method, path), [(404, {"detail": "not found"})])
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def runs(self, *looks: tuple[str, list[dict[str, Any]]], dag_id: str = "nightly_matrix") -> None:
        """A run that is triggered, and what each look at it sees: its state and its tasks."""
        run = f"/api/v2/dags/{dag_id}/dagRuns"
        self.say("POST", run, {"dag_run_id": RUN_ID})
        self.say("GET", f"{run}/{RUN_ID}", *({"state": state} for state, _ in looks))
        pages = ({"task_instances": tasks, "total_entries": len(tasks)} for _, tasks in looks)
        self.say("GET", f"{run}/{RUN_ID}/taskInstances", *pages)

    def logs(self, task_id: str, *contents: list[Any], dag_id: str = "nightly_matrix", try_number: int = 1) -> None:
        """What each look at a task's log sees."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{RUN_ID}/taskInstances/{task_id}/logs/{try_number}"
        self.say("GET", path, *({"content": content} for content in contents))


@contextmanager
def serving(fake: FakeAirflow) -> Iterator[str]:
    """Answer on a free port of the loopback; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply("GET")

        def do_POST(self) -> None:
            self._reply("POST")

        def _reply(self, method: str) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = fake.answer(method, self.path.partition("?")[0], body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def task(
    task_id: str,
    state: str | None,
    *,
    map_index: int = -1,
    label: str | None = None,
    try_number: int = 1,
    duration: float | None = None,
) -> dict[str, Any]:
    """A task instance, as the API lists it."""
    return {
        "task_id": task_id,
        "map_index": map_index,
        "rendered_map_index": label,
        "state": state,
        "try_number": try_number,
        "duration": duration,
    }
