"""Start-up facts of every release that was recorded into samples/: what all logs say is read from all of them."""

from pathlib import Path

import pytest
import zstandard

from pipeline.domain.engine import Engine, EngineFacts
from pipeline.engines.capability import settle
from pipeline.engines.startup_log import read
from pipeline.settings import REPOSITORY

LOGS = sorted((REPOSITORY / "samples").glob("*/*/starts/*/*/server.log.zst"))


def named(path: Path) -> str:
    return "/".join(path.relative_to(REPOSITORY / "samples").parts[1:5:2])


def facts(path: Path) -> EngineFacts:
    with path.open("rb") as file:
        return read(zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8"))


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
