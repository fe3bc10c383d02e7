"""The command line: only flags that vLLM has through the whole range, so that a wrong one fails a test as it would
fail a server."""

import argparse
import json
from typing import Any

SPECULATIVE_KEYS = frozenset(
    {
        "method",
        "model",
        "num_speculative_tokens",
        "prompt_lookup_min",
        "prompt_lookup_max",
        "rejection_sample_method",
        "synthetic_acceptance_rates",
        "synthetic_acceptance_length",
        "draft_sample_method",
        "num_speculative_tokens_per_batch_size",
    }
)
METHODS = frozenset({"ngram", "ngram_gpu", "draft_model", "eagle", "eagle3", "mtp", "suffix", "dflash"})


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse as vLLM does: usage and exit status 2 for a flag it does not know."""
    parser = argparse.ArgumentParser(prog="api_server.py", allow_abbrev=False)
    parser.add_argument("--host", default=None)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="Qwen/Qwen3-0.6B")
    parser.add_argument("--served-model-name", nargs="+", default=None)
    parser.add_argument("--max-model-len", type=int, default=None)
    parser.add_argument("--max-num-seqs", type=int, default=256)
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.92)
    parser.add_argument("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--enforce-eager", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--generation-config", default="auto")
    parser.add_argument("--kv-cache-dtype", default="auto")
    parser.add_argument("--load-format", default="auto", choices=["auto", "safetensors", "dummy"])
    parser.add_argument("--hf-overrides", type=json.loads, default={})
    parser.add_argument("--revision", default=None)
    parser.add_argument("--dtype", default="auto", choices=["auto", "half", "float16", "bfloat16", "float", "float32"])
    parser.add_argument("--speculative-config", type=json.loads, default=None)
    return parser.parse_args(arguments)


def speculative_error(config: dict[str, Any] | None) -> str | None:
    """Return what vLLM's validation would say of a --speculative-config, or None."""
    if config is None:
        return None
    unknown = sorted(set(config) - SPECULATIVE_KEYS)
    if unknown:
        return f"1 validation error for SpeculativeConfig\n{unknown[0]}\n  Unexpected keyword argument"
    if config.get("method") not in METHODS:
        return f"1 validation error for SpeculativeConfig\nmethod\n  Input should not be {config.get('method')}"
    return None
