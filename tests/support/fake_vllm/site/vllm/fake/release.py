"""What each release has: flags, speculation methods and keys, metrics. Tables of (from, until), either end open.

Read from the packages, 0.8.5 to 0.33.0. Not shared with pipeline/engines/registry.yaml: the tests compare the two.
"""

from dataclasses import dataclass
from typing import Any

from packaging.version import Version

Range = tuple[str | None, str | None]
ALWAYS: Range = (None, None)

METRICS: dict[str, Range] = {
    "inter_token_latency_seconds": ("0.10.2", None),
    "time_per_output_token_seconds": (None, "0.15"),
    "request_time_per_output_token_seconds": ("0.11", None),
    "kv_cache_usage_perc": ("0.9.2", None),
    "gpu_cache_usage_perc": (None, "0.12"),
    "cache_config_info.kv_cache_size_tokens": ("0.24", None),
}
FLAGS: dict[str, Range] = {
    "--disable-log-requests": (None, "0.17"),
    "--swap-space": (None, "0.18"),
    "--task": (None, "0.13"),
    "--kv-cache-memory-bytes": ("0.10.2", None),
    "--attention-backend": ("0.13", None),
    "--per-request-spec-decode-metrics": ("0.29", None),
}
METHODS: dict[str, tuple[Range, ...]] = {
    "ngram": (ALWAYS,),
    "eagle": (ALWAYS,),
    "eagle3": (("0.9.1", None),),
    "draft_model": ((None, "0.10"), ("0.15", None)),  # the V0 engine had it, the V1 engine got it later
    "mtp": (("0.11", None),),
    "suffix": (("0.11.1", None),),
    "ngram_gpu": (("0.18", None),),
    "dflash": (("0.20", None),),
    "custom_class": (("0.22", None),),
    "dspark": (("0.25", None),),
    "medusa": ((None, "0.33"),),
    "mlp_speculator": ((None, "0.33"),),
}
KEYS: dict[str, Range] = {
    "method": ALWAYS,
    "model": ALWAYS,
    "num_speculative_tokens": ALWAYS,
    "prompt_lookup_min": ALWAYS,
    "prompt_lookup_max": ALWAYS,
    "disable_by_batch_size": (None, "0.17"),
    "parallel_drafting": ("0.16", None),
    "rejection_sample_method": ("0.18", None),
    "synthetic_acceptance_rate": ("0.19", "0.20"),
    "synthetic_acceptance_rates": ("0.20", None),
    "synthetic_acceptance_length": ("0.20", None),
    "draft_sample_method": ("0.21", None),
    "num_speculative_tokens_per_batch_size": ("0.24", None),
}
VALUES: dict[tuple[str, str], Range] = {
    ("rejection_sample_method", "synthetic"): ("0.19", None),
    ("rejection_sample_method", "strict"): ("0.18", "0.21"),
    ("rejection_sample_method", "probabilistic"): ("0.18", "0.21"),
    ("rejection_sample_method", "standard"): ("0.21", None),
    ("rejection_sample_method", "block"): ("0.25", None),
    ("rejection_sample_method", "fly"): ("0.33", None),
    ("draft_sample_method", "greedy"): ("0.21", None),
    ("draft_sample_method", "gumbel"): ("0.21", "0.22"),
    ("draft_sample_method", "probabilistic"): ("0.22", None),
}
FIRST_SPECULATION_ON_CPU = "0.20"
REFUSES_UNDER_SPECULATION = "0.17"  # min_p and logit_bias: HTTP 400
ASYNC_BY_DEFAULT = "0.14"
ASYNC_METHODS: dict[str, Range] = {
    "eagle": ALWAYS,
    "eagle3": ALWAYS,
    "mtp": ALWAYS,
    "ngram_gpu": ALWAYS,
    "draft_model": ("0.28", None),
}
V2_BASELINE = "0.23"  # of a Llama, which the fake always is
V2_METHODS: dict[str, Range] = {
    "eagle": ALWAYS,
    "eagle3": ALWAYS,
    "mtp": ALWAYS,
    "dflash": ("0.24", None),
    "draft_model": ("0.31", None),
    "ngram": ("0.32", None),
}


@dataclass(frozen=True)
class Release:
    """One release on a platform, cpu or cuda."""

    version: str
    platform: str = "cpu"

    def since(self, first: str) -> bool:
        """Whether this is `first` or later."""
        return Version(self.version) >= Version(first)

    def within(self, limits: Range) -> bool:
        """Whether this lies in [from, until)."""
        first, until = limits
        return (first is None or self.since(first)) and (until is None or not self.since(until))

    def has_metric(self, name: str) -> bool:
        """Whether /metrics shows vllm:`name`; what no table names is there in all of them."""
        return self.within(METRICS.get(name, ALWAYS))

    def asynchronous(self, method: str) -> bool:
        """Whether scheduling is asynchronous in an arm (`none`: without speculation)."""
        if not self.since(ASYNC_BY_DEFAULT):
            return False
        return method == "none" or (method in ASYNC_METHODS and self.within(ASYNC_METHODS[method]))

    def runner(self, method: str) -> str:
        """Return V1 or V2; on CPU it is V1, for want of Triton."""
        if self.platform == "cpu" or not self.since(V2_BASELINE):
            return "V1"
        able = method == "none" or (method in V2_METHODS and self.within(V2_METHODS[method]))
        return "V2" if able else "V1"

    def speculation_error(self, config: dict[str, Any] | None) -> str | None:
        """Return what this release's validation says of a --speculative-config; None where it takes it."""
        if config is None:
            return None
        method = config.get("method")
        for key, value in sorted(config.items()):
            if not self.within(KEYS.get(key, ("999", None))):
                return f"1 validation error for SpeculativeConfig\n{key}\n  Unexpected keyword argument"
            if not self.within(VALUES.get((key, str(value)), ALWAYS)):
                return f"1 validation error for SpeculativeConfig\n{key}\n  Input should not be {value!r}"
        if not any(self.within(limits) for limits in METHODS.get(str(method), ())):
            return f"1 validation error for SpeculativeConfig\nmethod\n  Input should not be {method!r}"
        if self.platform == "cpu" and not self.since(FIRST_SPECULATION_ON_CPU):
            return "AssertionError: speculative decoding is not supported on CPU"
        return None
