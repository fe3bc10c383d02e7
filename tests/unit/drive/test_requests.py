"""What is asked, byte by byte."""

import json

from pipeline.domain.workload import Prompt
from pipeline.drive.requests import Composer
from pipeline.drive.target import Target
from tests.unit.drive.loads import load

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


def composer(**more: object) -> Composer:
    return Composer(load(2, **more), target=Target("::1", 8000, "/base"), served_model="m")


def test_a_request_is_one_http_message_that_asks_for_a_close() -> None:
    head, _, body = composer().request(1).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /base/v1/chat/completions HTTP/1.1"
    assert {"Host: [::1]:8000", "Connection: close", f"Content-Length: {len(body)}"} <= set(lines)
    assert json.loads(body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "p1"}],
        "max_tokens": 4,
        "temperature": 0.0,
        "seed": 8,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def test_a_completion_is_asked_with_the_text_alone() -> None:
    found = composer(endpoint="completions")
    assert found.request(0).startswith(b"POST /base/v1/completions ")
    body = found.body(0, history=[("user", "before"), ("assistant", "yes")])
    assert (body["prompt"], "messages" in body) == ("before\n\nyes\n\np0", False)


def test_a_history_comes_before_the_prompt() -> None:
    body = composer().body(0, history=[("user", "before"), ("assistant", "yes")])
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


def test_a_schema_guides_only_where_the_load_says_so() -> None:
    prompts = [Prompt("p", "json", (("user", "p"),), response_schema=SCHEMA), Prompt("q", "json", (("user", "q"),))]
    guided = composer(prompts=prompts, guided=True)
    assert guided.body(0)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA},
    }
    assert "response_format" not in guided.body(1)
    assert "response_format" not in composer(prompts=prompts).body(0)
