"""Small requests to a server on this machine. http.client, because it knows nothing of proxies."""

import http.client
import json

from pipeline.serve.ports import HOST

Answer = tuple[int, str]  # HTTP status and body


def get(port: int, *, path: str, timeout_s: float) -> Answer | None:
    """Return the answer to a GET, or None when there is none in time."""
    return _ask(port, method="GET", path=path, body=None, timeout_s=timeout_s)


def complete_one_token(port: int, *, served_model: str, timeout_s: float) -> Answer | None:
    """Ask for one token of a completion; return the answer, or None when there is none in time."""
    body = json.dumps({"model": served_model, "prompt": "Hi", "max_tokens": 1, "temperature": 0})
    return _ask(port, method="POST", path="/v1/completions", body=body, timeout_s=timeout_s)


def _ask(port: int, *, method: str, path: str, body: str | None, timeout_s: float) -> Answer | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    headers = {} if body is None else {"Content-Type": "application/json"}
    try:
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", errors="replace")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
