"""What the registry refuses, and what it lets through."""

import pytest

from pipeline.domain.engine import Engine, Platform
from pipeline.domain.method import Method
from pipeline.engines.capability import RULES, unsupported


def refused(
    version: str, method: str, *, platform: Platform = "cuda", temperature: float = 0.0, **options: object
) -> str | None:
    arm = Method(name=method, method=method, num_speculative_tokens=4, options=options)
    return unsupported(Engine(version=version, platform=platform), arm, temperature=temperature)


@pytest.mark.parametrize(
    ("method", "last_without", "first_with"),
    [
        ("draft_model", "0.14.1", "0.15.0"),
        ("eagle3", "0.9.1", "0.9.2"),
        ("mtp", "0.10.2", "0.11.0"),
        ("suffix", "0.11.0", "0.11.1"),
        ("ngram_gpu", "0.17.1", "0.18.0"),
        ("dflash", "0.19.1", "0.20.0"),
        ("custom_class", "0.21.0", "0.22.0"),
        ("dspark", "0.24.0", "0.25.0"),
        ("medusa", "0.33.0", "0.32.0"),
        ("mlp_speculator", "0.33.0", "0.32.0"),
    ],
)
def test_methods_come_and_go_with_releases(method: str, last_without: str, first_with: str) -> None:
    assert refused(last_without, method)
    assert refused(first_with, method) is None


def test_draft_models_ran_on_the_v0_engine() -> None:
    assert refused("0.9.2", "draft_model") is None
    assert refused("0.10.0", "draft_model")


@pytest.mark.parametrize("method", ["ngram", "draft_model", "eagle3"])
def test_speculation_on_cpu_starts_with_0_20(method: str) -> None:
    assert refused("0.19.1", method, platform="cpu")
    assert refused("0.20.0", method, platform="cpu") is None


def test_speculation_on_cpu_is_greedy() -> None:
    assert "temperature" in (refused("0.32.0", "ngram", platform="cpu", temperature=0.7) or "")
    assert refused("0.32.0", "ngram", platform="cuda", temperature=0.7) is None


def test_synthetic_acceptance_does_not_run_on_cpu() -> None:
    assert refused("0.32.0", "draft_model", platform="cpu", rejection_sample_method="synthetic")
    assert refused("0.32.0", "draft_model", platform="cuda", rejection_sample_method="synthetic") is None


@pytest.mark.parametrize(("version", "platform"), [("0.8.5", "cpu"), ("0.33.0", "cuda")])
def test_the_baseline_always_runs(version: str, platform: Platform) -> None:
    assert refused(version, "none", platform=platform, temperature=1.0) is None


def test_options_come_and_go_with_releases() -> None:
    assert refused("0.16.0", "ngram", disable_by_batch_size=8) is None
    assert refused("0.17.0", "ngram", disable_by_batch_size=8)
    assert refused("0.19.1", "ngram", synthetic_acceptance_rate=0.5) is None
    assert refused("0.20.0", "ngram", synthetic_acceptance_rate=0.5)
    assert refused("0.20.0", "ngram", rejection_sample_method="synthetic") is None
    assert refused("0.24.0", "ngram", rejection_sample_method="block")


def test_a_reason_names_the_engine_and_how_we_know() -> None:
    reason = refused("0.14.0", "draft_model")
    assert reason is not None
    assert "0.14.0-cuda" in reason
    assert "package" in reason


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    assert "ngram" in (refused("0.32.0", "telepathy") or "")


def test_a_version_that_is_no_release_number_is_refused() -> None:
    assert "nightly" in (refused("nightly", "ngram") or "")


def test_post_and_pre_releases_belong_to_their_release() -> None:
    assert refused("0.9.2.post2", "eagle3") is None
    assert refused("0.33.0rc1", "dspark") is None


def test_every_rule_has_a_reason_and_a_source() -> None:
    assert all(rule.reason and rule.source for rule in RULES)
