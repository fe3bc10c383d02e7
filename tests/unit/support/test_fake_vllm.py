"""The fake server against what real servers were captured saying."""

import asyncio
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.engines.startup_log import read
from pipeline.serve.server import Server
from tests.support.capture import capture, small
from tests.support.fake_vllm.serving import fake_server

pytestmark = pytest.mark.loopback

FIXTURES = Path(__file__).resolve().parents[2] / "support" / "fixtures" / "vllm"
NGRAM = {"method": "ngram", "num_speculative_tokens": 4}
Shape = tuple[Any, ...]


def captured(server: Server, directory: Path, *, max_tokens: int = 64) -> list[list[dict[str, Any]]]:
    """Capture from the fake with the tool that captured the fixtures; return the events of each stream."""
    asyncio.run(capture(server.url, name="fake", out=directory, model="m", max_tokens=max_tokens))
    return [events(directory / f"fake.stream-{n}.sse") for n in range(4)]


def events(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def shape(value: Any) -> Any:
    """Keys in their order, types instead of values."""
    if isinstance(value, dict):
        return tuple((key, shape(item)) for key, item in value.items())
    if isinstance(value, list):
        return ("list", *(shape(item) for item in value))
    return type(value).__name__


def totals(path: Path) -> dict[str, float]:
    """Sample name with its position or quantile -> value."""
    families = text_string_to_metric_families(path.read_text(encoding="utf-8"))
    return {
        sample.name + sample.labels.get("position", ""): sample.value
        for family in families
        for sample in family.samples
        if "_bucket" not in sample.name
    }


def forms(path: Path) -> dict[str, tuple[str, frozenset[str]]]:
    """Metric name -> its TYPE and its label names."""
    text = small(path.read_text(encoding="utf-8"))
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    found = {}
    for name, labels in re.findall(r"^([a-z_:]+)\{([^}]*)\}", text, re.MULTILINE):
        keys = frozenset(re.findall(r'(\w+)="', labels)) - {"le"}
        found[name] = (types.get(name, types.get(re.sub(r"_(sum|count|bucket)$", "", name), "?")), keys)
    return found


@pytest.mark.parametrize("fixture", ["cpu-0.32.0-ngram-c4", "cpu-0.32.0-draft_model-c4", "cpu-0.32.0-baseline-c4"])
def test_chat_streams_have_the_captured_shapes(tmp_path: Path, fixture: str) -> None:
    with fake_server(tmp_path, speculative=NGRAM) as server:
        ours = captured(server, tmp_path)
    real = [events(FIXTURES / f"{fixture}.stream-{n}.sse") for n in range(4)]
    assert {shape(s[0]) for s in ours} == {shape(s[0]) for s in real}  # the role
    assert {shape(e) for s in ours for e in s[1:-2]} == {shape(e) for s in real for e in s[1:-2]}  # tokens
    lengths = [s for s in real if s[-2]["choices"][0]["finish_reason"] == "length"]
    assert {shape(s[-2]) for s in ours} == {shape(s[-2]) for s in lengths}  # the last with tokens
    assert {shape(s[-1]) for s in ours} == {shape(s[-1]) for s in real}  # the usage


def test_completion_streams_have_the_captured_shape(tmp_path: Path) -> None:
    body = {"model": "m", "prompt": "Hi", "max_tokens": 1, "stream": True}
    body["stream_options"] = {"include_usage": True, "continuous_usage_stats": True}
    with fake_server(tmp_path) as server:
        (tmp_path / "ours.sse").write_text(asyncio.run(post(f"{server.url}/v1/completions", body)))
    ours, real = events(tmp_path / "ours.sse"), events(FIXTURES / "cpu-0.32.0-ngram.completions.sse")
    assert [shape(event) for event in ours] == [shape(event) for event in real]


async def post(url: str, body: dict[str, Any]) -> str:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        return await response.text()


def test_metrics_have_the_captured_names_types_and_labels(tmp_path: Path) -> None:
    with fake_server(tmp_path, speculative=NGRAM) as server:
        captured(server, tmp_path)
    ours, real = forms(tmp_path / "fake.after.prom"), forms(FIXTURES / "cpu-0.32.0-ngram-json-c4.after.prom")
    del ours["vllm:cache_config_info"]  # the real one has thirty labels
    assert {name: real.get(name) for name in ours} == ours
    assert "vllm:spec_decode_num_accepted_tokens_per_pos_created" in ours
    assert "vllm:prefix_cache_queries_total" in ours


def test_counters_agree_with_the_streams(tmp_path: Path) -> None:
    with fake_server(tmp_path, speculative=NGRAM) as server:
        streams = captured(server, tmp_path)
    before, after = totals(tmp_path / "fake.before.prom"), totals(tmp_path / "fake.after.prom")
    grown = {name: after[name] - before.get(name, 0) for name in after}
    tokens = sum(stream[-1]["usage"]["completion_tokens"] for stream in streams)
    chunks = sum(len(stream) - 2 for stream in streams)
    accepted = grown["vllm:spec_decode_num_accepted_tokens_total"]
    assert grown["vllm:generation_tokens_total"] == tokens == 4 * 64
    assert (
        grown["vllm:inter_token_latency_seconds_count"] == chunks - 4
    )  # a step each; the first token is the prefill's
    assert grown["vllm:spec_decode_num_draft_tokens_total"] == 4 * grown["vllm:spec_decode_num_drafts_total"]
    assert sum(grown[f"vllm:spec_decode_num_accepted_tokens_per_pos_total{n}"] for n in range(4)) == accepted
    assert grown["vllm:spec_decode_num_drafts_total"] < chunks - 4  # some steps found nothing to draft
    assert chunks - 4 + accepted >= tokens - 4  # the last step of a stream can be cut


def test_chunks_hold_several_tokens_under_speculation_and_one_without(tmp_path: Path) -> None:
    def largest(streams: list[list[dict[str, Any]]]) -> int:
        counts = [[event["usage"]["completion_tokens"] for event in stream[:-1]] for stream in streams]
        return max(b - a for stream in counts for a, b in pairwise(stream))

    with fake_server(tmp_path / "a", speculative=NGRAM) as server:
        assert largest(captured(server, tmp_path / "a")) > 1
    with fake_server(tmp_path / "b") as server:
        assert largest(captured(server, tmp_path / "b")) == 1
        assert "spec_decode" not in server.scrape()


def test_speculation_changes_no_text(tmp_path: Path) -> None:
    def texts(directory: Path, speculative: dict[str, Any] | None) -> list[str]:
        with fake_server(directory, speculative=speculative) as server:
            streams = captured(server, directory)
        return ["".join(e["choices"][0]["delta"]["content"] for e in s if e["choices"]) for s in streams]

    assert texts(tmp_path / "a", None) == texts(tmp_path / "b", NGRAM)


def test_its_log_is_read_like_a_real_one(tmp_path: Path) -> None:
    with fake_server(tmp_path, speculative=NGRAM) as server:
        ours = read(server.log())
    real = read((FIXTURES / "cpu-0.32.0-ngram.log").read_text(encoding="utf-8"))
    for fact in ("vllm_version", "model_runner", "async_scheduling", "cudagraph_mode", "enforce_eager"):
        assert getattr(ours, fact) == getattr(real, fact), fact
    assert (ours.kv_cache_tokens, ours.kv_cache_bytes) == (real.kv_cache_tokens, real.kv_cache_bytes)


async def chat(url: str, *, number: int = 1, **more: Any) -> list[tuple[int, str]]:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, **more}
    answers = []
    async with aiohttp.ClientSession() as session:
        for _ in range(number):
            try:
                timeout = aiohttp.ClientTimeout(total=3)
                async with session.post(f"{url}/v1/chat/completions", json=body, timeout=timeout) as response:
                    answers.append((response.status, await response.text()))
            except (aiohttp.ClientError, TimeoutError) as error:
                answers.append((0, type(error).__name__))
    return answers


def test_scripted_faults_hit_the_request_they_name(tmp_path: Path) -> None:
    with fake_server(tmp_path, http_errors="2=503,3=400", break_stream_at="4", hang_at="5") as server:
        answers = asyncio.run(chat(server.url, number=6, stream=True))
    assert [status for status, _ in answers] == [200, 503, 400, 0, 0, 200]
    assert answers[3][1] in {"ClientPayloadError", "ServerDisconnectedError", "ClientOSError"}
    assert "Timeout" in answers[4][1]


def test_counters_start_again_when_scripted(tmp_path: Path) -> None:
    with fake_server(tmp_path, reset_counters_at="2") as server:
        asyncio.run(chat(server.url))
        first = server.scrape()
        asyncio.run(chat(server.url))
        second = server.scrape()
    tokens = [re.findall(r"^vllm:generation_tokens_total\S+ (\S+)$", text, re.MULTILINE) for text in (first, second)]
    assert tokens == [["9.0"], ["8.0"]]  # one more in the first: the readiness probe


@pytest.mark.parametrize(("stop_after", "expected"), [("1", (1, "stop")), ("2", (2, "stop")), ("99", (8, "length"))])
def test_outputs_end_where_scripted(tmp_path: Path, stop_after: str, expected: tuple[int, str]) -> None:
    with fake_server(tmp_path, stop_after=stop_after) as server:
        ((_, text),) = asyncio.run(chat(server.url))
    body = json.loads(text)
    assert (body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]) == expected


def test_an_unknown_variable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="FAKE_VLLM_TOKENMS"), fake_server(tmp_path, tokenms="3"):
        pytest.fail("it was never ready")
