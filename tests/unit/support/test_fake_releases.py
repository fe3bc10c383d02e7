"""What the fake server has, says and refuses in each release, against the facts and against our own registry."""

import contextlib
import importlib
import io
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.engines.argv import renamed
from pipeline.engines.capability import METHODS, unsupported
from pipeline.engines.startup_log import read
from pipeline.measure.counters import difference
from tests.support.fake_vllm.engine import SITE

FIXTURES = Path(__file__).resolve().parents[2] / "support" / "fixtures" / "vllm"
# every release at which something appears or goes, and the one before it
RELEASES = (
    *("0.8.5", "0.9.2", "0.10.0", "0.10.2", "0.11.0", "0.11.1", "0.12.0", "0.13.0", "0.14.1", "0.15.0", "0.16.0"),
    *("0.17.0", "0.18.0", "0.19.0", "0.20.0", "0.21.0", "0.22.0", "0.23.0", "0.24.0", "0.25.1", "0.28.0", "0.29.0"),
    *("0.31.0", "0.32.0", "0.33.0"),
)
NGRAM = {"method": "ngram", "num_speculative_tokens": 4}
DRAFT = {"method": "draft_model", "num_speculative_tokens": 4, "model": "d"}


@pytest.fixture(scope="module")
def fake() -> Iterator[Any]:
    """The fake's own modules, in this process; nothing of them stays imported."""
    sys.path.insert(0, str(SITE))
    try:
        names = ("release", "flags", "metrics", "log", "decoding", "script")
        yield SimpleNamespace(
            **{name: importlib.import_module(f"vllm.fake.{name}") for name in names},
            vllm=importlib.import_module("vllm"),
        )
    finally:
        sys.path.remove(str(SITE))
        for name in [name for name in sys.modules if name == "vllm" or name.startswith("vllm.")]:
            del sys.modules[name]


def metrics_text(fake: Any, version: str, *, config: dict[str, Any] | None = None) -> str:
    metrics = fake.metrics.Metrics(model="m", config=config, kv_tokens=5, release=fake.release.Release(version))
    return str(metrics.text().decode())


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("vllm:inter_token_latency_seconds_count{", "0.10.2", "0.33.0"),
        ("vllm:time_per_output_token_seconds_count{", "0.8.5", "0.14.1"),
        ("vllm:request_time_per_output_token_seconds_count{", "0.11.0", "0.33.0"),
        ("vllm:kv_cache_usage_perc{", "0.9.2", "0.33.0"),
        ("vllm:gpu_cache_usage_perc{", "0.8.5", "0.11.1"),
        ("kv_cache_size_tokens=", "0.24.0", "0.33.0"),
        ("vllm:generation_tokens_total{", "0.8.5", "0.33.0"),
        ("vllm:spec_decode_num_accepted_tokens_per_pos_total{", "0.8.5", "0.33.0"),
    ],
)
def test_a_metric_is_there_from_its_first_release_to_its_last(fake: Any, name: str, first: str, last: str) -> None:
    there = [version for version in RELEASES if name in metrics_text(fake, version, config=NGRAM)]
    assert there == list(RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1])


def test_steps_are_counted_under_their_old_name_and_under_their_new_one(fake: Any) -> None:
    counted = [difference(text, text).engine_steps for text in (metrics_text(fake, v) for v in ("0.10.0", "0.10.2"))]
    assert counted == [0, 0]


@pytest.mark.parametrize(
    ("flag", "first", "last"),
    [
        ("--disable-log-requests", "0.8.5", "0.16.0"),
        ("--swap-space=4", "0.8.5", "0.17.0"),
        ("--task=generate", "0.8.5", "0.12.0"),
        ("--kv-cache-memory-bytes=1000", "0.10.2", "0.33.0"),
        ("--attention-backend=FLASH_ATTN", "0.13.0", "0.33.0"),
        ("--no-enable-prefix-caching", "0.8.5", "0.33.0"),
        ("--no-such-flag", None, None),
    ],
)
def test_a_flag_is_taken_from_its_first_release_to_its_last(
    fake: Any, flag: str, first: str | None, last: str | None
) -> None:
    taken = []
    for version in RELEASES:
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            fake.flags.parse([flag], release=fake.release.Release(version))
            taken.append(version)
    expected = RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1] if first and last else ()
    assert taken == list(expected)


def test_metrics_of_speculation_for_each_request_need_speculation(fake: Any) -> None:
    release = fake.release.Release("0.29.0")
    with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        fake.flags.parse(["--per-request-spec-decode-metrics=summary"], release=release)


def options(**changes: Any) -> dict[str, Any]:
    return changes


OPTIONS = (
    options(),
    options(disable_by_batch_size=8),
    options(num_speculative_tokens_per_batch_size=[[1, 8, 2]]),
    options(rejection_sample_method="standard"),
    options(rejection_sample_method="block"),
    options(rejection_sample_method="fly"),
    options(rejection_sample_method="synthetic", synthetic_acceptance_rate=0.5),
    options(rejection_sample_method="synthetic", synthetic_acceptance_rates=[0.5]),
    options(rejection_sample_method="synthetic", synthetic_acceptance_length=2.5),
    options(rejection_sample_method="strict"),
    options(draft_sample_method="greedy"),
    options(draft_sample_method="gumbel"),
    options(draft_sample_method="probabilistic"),
)


@pytest.mark.parametrize("version", RELEASES)
def test_the_capability_registry_refuses_what_a_server_of_that_release_refuses(fake: Any, version: str) -> None:
    """Two tables read from the same packages, by two readers."""
    different = []
    for name in sorted(METHODS - {"none"}):
        for extra in OPTIONS:
            draft = Model(name="d", source="/m/d")
            method = Method(name="arm", method=name, num_speculative_tokens=3, draft=draft, options=extra)
            engine = Engine(version=version, platform="cuda")
            ours = unsupported(engine, method, temperature=0.0)
            config = {"method": name, "num_speculative_tokens": 3} | renamed(method, engine=engine)
            theirs = fake.release.Release(version, "cuda").speculation_error(config)
            if (ours is None) != (theirs is None):
                different.append((name, extra, ours, theirs))
    assert different == []


def test_an_unknown_key_is_refused(fake: Any) -> None:
    said = fake.release.Release("0.32.0").speculation_error(NGRAM | {"num_speculativ_tokens": 3})
    assert "num_speculativ_tokens\n  Unexpected keyword argument" in said


def log_text(fake: Any, version: str, platform: str, *, config: dict[str, Any] | None, eager: bool = False) -> str:
    fake.vllm.__version__ = version
    told = Namespace(
        model="m",
        speculative_config=config,
        max_model_len=4096 if platform == "cuda" else 2048,
        load_format="dummy",
        enforce_eager=eager,
        seed=0,
        enable_prefix_caching=False,
    )
    written = io.StringIO()
    with contextlib.redirect_stderr(written):
        fake.log.banner(told)
        fake.log.engine(told, release=fake.release.Release(version, platform))
    return written.getvalue()


@pytest.mark.parametrize(
    ("fixture", "config"),
    [
        ("h200-0.25.1-baseline", None),
        ("h200-0.25.1-draft_model", DRAFT),
        ("cpu-0.32.0-ngram", NGRAM),
        ("cpu-0.32.0-draft_model", DRAFT),
    ],
)
def test_its_log_states_the_facts_of_the_captured_one(fake: Any, fixture: str, config: dict[str, Any] | None) -> None:
    device, version, _ = fixture.split("-")
    platform = "cpu" if device == "cpu" else "cuda"
    real = read((FIXTURES / f"{fixture}.log").read_text(encoding="utf-8"))
    ours = read(log_text(fake, version, platform, config=config, eager=real.enforce_eager or False))
    # what a start costs differs from start to start; the fake captures no graphs, compiles nothing and warns of little
    costs = ("load_s", "compile_s", "init_s", "graph_capture_s", "graph_memory_bytes", "jit_compilations")
    told = {name: value for name, value in real.as_json().items() if name not in ("warnings", "warning_kinds", *costs)}
    assert {name: ours.as_json()[name] for name in told} == told
    assert set(ours.warning_kinds) == set(real.warning_kinds) - {"jit_during_inference"}
    assert (ours.load_s is None, ours.compile_s is None) == (real.load_s is None, real.compile_s is None)


@pytest.mark.parametrize(
    ("version", "method", "runner", "asynchronous"),
    [
        ("0.12.0", "none", None, None),  # neither exists
        ("0.14.1", "none", None, True),
        ("0.14.1", "ngram", None, False),
        ("0.14.1", "eagle", None, True),
        ("0.23.0", "none", "V2", True),
        ("0.23.0", "ngram", "V1", False),
        ("0.25.1", "draft_model", "V1", False),
        ("0.28.0", "draft_model", "V1", True),
        ("0.31.0", "draft_model", "V2", True),
        ("0.32.0", "ngram", "V2", False),
        ("0.33.0", "suffix", "V1", False),
    ],
)
def test_runner_and_scheduling_are_those_of_the_release(
    fake: Any, version: str, method: str, runner: str | None, asynchronous: bool | None
) -> None:
    config = None if method == "none" else {"method": method, "num_speculative_tokens": 4}
    facts = read(log_text(fake, version, "cuda", config=config))
    assert (facts.model_runner, facts.async_scheduling) == (runner, asynchronous)


def test_synthetic_acceptance_has_the_least_variance_that_its_length_allows(fake: Any) -> None:
    def rates(k: int, **extra: Any) -> Any:
        config = {"method": "draft_model", "num_speculative_tokens": k, "rejection_sample_method": "synthetic"}
        return fake.decoding.synthetic_rates(config | extra)

    assert rates(3, synthetic_acceptance_length=2.5) == (1.0, 0.5, 0.0)
    # as logged on the H200 at length 3.36: 1.000, 1.000, 0.388 (of few drafts), 0.000
    assert rates(4, synthetic_acceptance_length=3.36) == pytest.approx((1.0, 1.0, 0.36, 0.0))
    assert rates(2, synthetic_acceptance_rates=[0.8, 0.4]) == (0.8, 0.4)
    assert fake.decoding.synthetic_rates(NGRAM) is None
