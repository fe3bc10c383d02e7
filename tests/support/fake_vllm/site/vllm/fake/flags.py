"""The command line of one release: what it does not know, it refuses as vLLM does."""

import argparse
import json

from vllm.fake.release import FLAGS, Release

DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")


def parse(arguments: list[str], *, release: Release) -> argparse.Namespace:
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
    parser.add_argument("--dtype", default="auto", choices=DTYPES)
    parser.add_argument("--speculative-config", type=json.loads, default=None)
    parser.add_argument("--disable-log-stats", action="store_true")
    for flag, limits in FLAGS.items():
        if release.within(limits):
            switch = {"action": "store_true"} if flag == "--disable-log-requests" else {"default": None}
            parser.add_argument(flag, **switch)
    options = parser.parse_args(arguments)
    if getattr(options, "per_request_spec_decode_metrics", None) and options.speculative_config is None:
        parser.error("--per-request-spec-decode-metrics needs a --speculative-config")
    return options
