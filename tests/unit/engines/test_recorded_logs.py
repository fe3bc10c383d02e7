"""Start-up facts of every release that was recorded into samples/: what all logs say is read from all of them."""

from pathlib import Path

import pytest
import zstandard

from pipeline.domain.engine import Engine, EngineFacts
from pipeline.engines.capability import settle
from pipeline.engines.failures import classify
from pipeline.engines.startup_log import read
from pipeline.settings import REPOSITORY

LOGS = sorted((REPOSITORY / "samples").glob("*/*/starts/*/*/server.log.zst"))


def named(path: Path) -> str:
    return "/".join(path.relative_to(REPOSITORY / "samples").parts[1:5:2])


def text_of(path: Path) -> str:
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8")


def facts(path: Path) -> EngineFacts:
    return read(text_of(path))


def test_there_are_logs_of_seven_cpu_releases_and_of_a_gpu() -> None:
    releases = {path.parts[-5].split("-")[1] for path in LOGS if "versions-cpu" in str(path)}
    assert len(releases) == 7
    assert any("h200" in str(path) for path in LOGS)


@pytest.mark.parametrize("path", LOGS, ids=named)
def test_what_every_release_says_is_read(path: Path) -> None:
    found = facts(path)
    version, platform = path.parts[-5].split("-")[1:3]
    assert found.vllm_version == version
    for name in ("model_runner", "cudagraph_mode", "enforce_eager", "kv_cache_tokens", "max_concurrency", "load_s"):
        assert getattr(found, name) is not None, name
    assert found.init_s is not None
    assert (found.model_memory_bytes is None) == (platform == "cpu")
    assert (found.graph_capture_s is None) == (platform == "cpu")


@pytest.mark.parametrize("path", [path for path in LOGS if "versions-cpu" in str(path)], ids=named)
def test_a_trend_on_cpu_holds_one_attention_backend_and_the_same_warnings(path: Path) -> None:
    found = facts(path)
    version = path.parts[-5].split("-")[1]
    assert found.attention_backend == ("CPU_ATTN" if version < "0.29" else None)
    assert settle(found, engine=Engine(version, "cpu")).attention_backend == "CPU_ATTN"
    drafting = "ngram" in path.parts[-3]
    assert found.warning_kinds == (("runner_fallback", "async_off") if drafting else ("runner_fallback",))


@pytest.mark.parametrize("path", LOGS, ids=named)
def test_nothing_in_the_log_of_a_release_is_taken_for_a_failure_that_it_is_not(path: Path) -> None:
    failure = classify(137, text_of(path))
    if path.parts[-5].startswith("04-0.30.0-cpu") and "ngram" in path.parts[-3]:  # its engine dies of the first draft
        assert failure.failure_class == "engine_died"
        assert "Cannot inspect kernel parameters" in failure.message
    else:  # one that was stopped may say last that its engine is dead
        assert failure.failure_class in {"killed", "engine_died"}
