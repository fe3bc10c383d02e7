"""The bytes of a request: an OpenAI body that asks for a stream with running usage, and a bare HTTP/1.1 head."""

from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.domain.workload import Prompt
from pipeline.drive.load import Load
from pipeline.drive.target import Target

Messages = Sequence[tuple[str, str]]
PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}


class Composer:
    """Writes the requests of one window."""

    def __init__(self, load: Load, *, target: Target, served_model: str) -> None:
        self._load = load
        self._served_model = served_model
        # The server closes after each answer: its end is then certain, and no connection is shared by two requests.
        self._head = (
            f"POST {target.path}{PATHS[load.endpoint]} HTTP/1.1\r\nHost: {target.name}\r\n"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\nConnection: close\r\nContent-Length: "
        ).encode()

    def request(self, index: int, *, history: Messages = ()) -> bytes:
        """Return the whole request of prompt `index`, whose conversation so far is `history`."""
        content = orjson.dumps(self.body(index, history=history))
        return self._head + str(len(content)).encode() + b"\r\n\r\n" + content

    def body(self, index: int, *, history: Messages = ()) -> dict[str, Any]:
        """Return the body, as a JSON object."""
        load = self._load
        prompt = load.prompts[index]
        messages = (*history, *prompt.messages)
        if load.endpoint == "chat":
            asked: dict[str, Any] = {"messages": [{"role": role, "content": content} for role, content in messages]}
        else:
            asked = {"prompt": "\n\n".join(content for _, content in messages)}
        return (
            {"model": self._served_model}
            | asked
            | {
                "max_tokens": load.output_tokens,
                "temperature": load.temperature,
                "seed": load.seed + index,
                "stream": True,
                "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            }
            | (_guided(prompt) if load.guided else {})
        )


def _guided(prompt: Prompt) -> dict[str, Any]:
    if prompt.response_schema is None:
        return {}
    schema = {"name": "answer", "schema": dict(prompt.response_schema)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}
