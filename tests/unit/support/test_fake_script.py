"""What a script says is what the product's load client and counters see."""

import asyncio
import http.client
import importlib.util
import json
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.domain.request import RequestRecord
from pipeline.domain.workload import Prompt
from pipeline.drive.client import Load, drive
from pipeline.measure.counters import CounterWindow, difference
from pipeline.serve.server import Server
from tests.support.fake_vllm.engine import SITE
from tests.support.fake_vllm.serving import fake_server

pytestmark = pytest.mark.loopback

NGRAM = {"method": "ngram", "num_speculative_tokens": 4}
TOKENS = 25


def window(server: Server, *, prompts: int = 2, concurrency: int = 1) -> tuple[list[RequestRecord], CounterWindow]:
    """Send prompts of 25 output tokens; return what the client and the counters saw."""
    load = Load(
        prompts=[Prompt(f"p{i}", "json", (("user", f"prompt {i}"),)) for i in range(prompts)],
        concurrency=concurrency,
        output_tokens=TOKENS,
        temperature=0.0,
        seed=0,
        request_timeout_s=20.0,
    )
    before = server.scrape()
    driven = drive(server.url, load, served_model="m")
    records = list(driven.requests)
    assert [record.error for record in records] == [None] * prompts
    return records, difference(before, server.scrape())


def load(name: str) -> ModuleType:
    """Return a module of the fake that imports nothing else of it."""
    spec = importlib.util.spec_from_file_location(name, SITE / "vllm" / "fake" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def speed(step_ms: int) -> dict[str, str]:
    return {"token_ms": str(step_ms)}


def tokens_by_chunk(record: RequestRecord) -> list[int]:
    return [b - a for a, b in pairwise((0, *record.chunk_tokens))]


def test_accepted_tokens_follow_the_script_and_are_counted_by_position(tmp_path: Path) -> None:
    # 3, 0 and 1 accepted, over and over, and one more each time: 7 tokens in 3 steps. The tenth is cut from 4 to 3.
    with fake_server(tmp_path, speculative=NGRAM, accepted="3,0,1", undrafted="0") as server:
        (record, _), counted = window(server)
    assert tokens_by_chunk(record) == [1, 4, 1, 2, 4, 1, 2, 4, 1, 2, 3]
    steps = 2 * 10
    assert (counted.drafts, counted.engine_steps, counted.drafted_tokens) == (steps, steps, 4 * steps)
    assert counted.accepted_tokens == 2 * (4 * 3 + 3 * 1)  # counted before the output is cut
    assert counted.accepted_per_position == (2 * (4 + 3), 2 * 4, 2 * 4, 0)
    assert counted.generated_tokens == 2 * TOKENS


def test_a_busy_server_merges_the_tokens_of_several_steps_into_one_chunk(tmp_path: Path) -> None:
    with fake_server(tmp_path, steps_per_chunk="5") as server:
        (record, _), counted = window(server)
    assert tokens_by_chunk(record) == [5] * 5
    assert counted.engine_steps == 2 * (TOKENS - 1)


def test_chunks_that_share_a_write_arrive_together_and_are_told_apart(tmp_path: Path) -> None:
    with fake_server(tmp_path, chunks_per_write="5", **speed(20)) as server:
        (record, _), _ = window(server)
    assert tokens_by_chunk(record) == [1] * TOKENS
    assert len(set(record.chunk_ns)) == 5
    times = sorted(set(record.chunk_ns))
    assert all(b - a > 20e6 for a, b in pairwise(times))  # five steps of 20 ms, the earlier write a little late


def test_steps_take_no_less_than_scripted(tmp_path: Path) -> None:
    with fake_server(tmp_path, prefill_ms="40", **speed(20)) as server:
        (record, _), counted = window(server)
    assert (record.chunk_ns[0] - record.sent_ns) / 1e6 >= 40
    assert (record.chunk_ns[-1] - record.sent_ns) / 1e9 >= 0.040 + 24 * 0.020
    assert (counted.step_seconds or 0.0) >= 2 * 24 * 0.020 * 0.9  # the prefill may end late, the steps then catch up


def test_late_timers_do_not_add_up() -> None:
    async def stalled() -> float:
        began, pace = time.perf_counter(), pacing.Pace()
        for _ in range(10):
            await pace.step(20)
            time.sleep(0.015)  # noqa: ASYNC251 - what a busy machine does between two steps
        return time.perf_counter() - began

    pacing = load("pacing")
    # ten steps of 20 ms and one stall, not ten of 35 ms
    assert asyncio.run(stalled()) < 0.300


# Only lower bounds below: a busy machine makes anything slower, and nothing faster.
def test_a_start_can_be_slower_than_the_one_before(tmp_path: Path) -> None:
    script = speed(5) | {"slowdowns": "1,10", "starts": str(tmp_path / "starts")}
    seconds = []
    for directory in (tmp_path / "a", tmp_path / "b"):
        with fake_server(directory, **script) as server:
            seconds.append(window(server, prompts=1)[1].step_seconds or 0.0)
    assert seconds[1] >= 24 * 0.050 * 0.95
    assert seconds[0] < seconds[1]


def test_load_slows_every_request_down(tmp_path: Path) -> None:
    with fake_server(tmp_path, load="1", **speed(10)) as server:
        together = window(server, prompts=3, concurrency=3)[1].step_seconds or 0.0
    assert together >= 3 * 24 * 0.010 * 2  # three times as long while all three run


@pytest.mark.parametrize("version", ["0.9.2", "0.15.0"])
def test_streams_and_counters_of_other_releases_agree_too(tmp_path: Path, version: str) -> None:
    with fake_server(
        tmp_path, speculative=NGRAM, version=version, distribution="vllm", flags=("--swap-space", "4")
    ) as server:
        records, counted = window(server)
        assert f"version {version}" in server.log()
    assert counted.generated_tokens == sum(record.output_tokens or 0 for record in records)
    assert counted.drafted_tokens == 4 * (counted.drafts or 0)
    assert sum(counted.accepted_per_position) == counted.accepted_tokens
    chunks = sum(len(record.chunk_tokens) for record in records)
    assert counted.engine_steps == chunks - len(records)


def test_without_log_stats_speculation_is_not_counted(tmp_path: Path) -> None:
    with fake_server(tmp_path, speculative=NGRAM, flags=("--disable-log-stats",)) as server:
        _, counted = window(server)
    assert (counted.drafts, counted.accepted_tokens) == (None, None)


def refused(server: Server, **body: Any) -> int:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    message = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]} | body
    connection.request("POST", "/v1/chat/completions", json.dumps(message), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_min_p_is_refused_under_speculation(tmp_path: Path) -> None:
    with fake_server(tmp_path, speculative=NGRAM) as server:
        assert refused(server, min_p=0.1) == 400
        assert refused(server, logit_bias={"1": 1}) == 400
        assert refused(server) == 200


def test_synthetic_acceptance_kills_the_engine_on_cpu(tmp_path: Path) -> None:
    config = NGRAM | {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.5}
    with fake_server(tmp_path, speculative=config) as server:
        assert refused(server) == 500
