"""The start-up log of vLLM on a GPU, in the captured form of 0.25.1 on an H200; other releases as far as is known."""

from argparse import Namespace

from vllm.fake.lines import configuration, method_of, say
from vllm.fake.release import ASYNC_BY_DEFAULT, V2_BASELINE, Release

KV_TOKENS = 237_552
KV_TOKENS_WITH_DRAFT = 200_864
EAGER = "{'mode': <CompilationMode.NONE: 0>, 'cudagraph_mode': <CUDAGraphMode.NONE: 0>}"
COMPILED = "{'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>}"


def kv_tokens(options: Namespace) -> int:
    """Return the tokens that fit beside the captured 32B shape."""
    return KV_TOKENS_WITH_DRAFT if method_of(options) == "draft_model" else KV_TOKENS


def engine(options: Namespace, *, release: Release) -> None:
    """The lines of configuration, loading, compilation and KV cache."""
    method = method_of(options)
    with_draft = method == "draft_model"
    _scheduling(method, release=release)
    compilation = EAGER if options.enforce_eager else COMPILED
    say(configuration(options, device="cuda", compilation=compilation), who="EngineCore", where="core.py:114")
    if release.runner(method) == "V2":
        say("Using V2 Model Runner", who="EngineCore", where="gpu_worker.py:360")
    text = "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN']."
    say(text, who="EngineCore", where="cuda.py:476")
    took = "61.25 GiB memory and 1.038891 seconds" if with_draft else "59.07 GiB and 2.192199 seconds"
    say(f"Model loading took {took}", who="EngineCore", where="gpu_model_runner.py:5306")
    if not options.enforce_eager:
        say("torch.compile took 30.27 s in total", who="EngineCore", where="monitor.py:53")
    gib = "55.17" if with_draft else "58.0"
    say(f"Available KV cache memory: {gib} GiB", who="EngineCore", where="gpu_worker.py:538")
    tokens, length = kv_tokens(options), options.max_model_len or 4096
    say(f"GPU KV cache size: {tokens:,} tokens", who="EngineCore", where="kv_cache_utils.py:2146")
    text = f"Maximum concurrency for {length:,} tokens per request: {tokens / length:.2f}x"
    say(text, who="EngineCore", where="kv_cache_utils.py:2147")
    text = "init engine (profile, create kv cache, warmup model) took 56.91 s"
    if not options.enforce_eager:
        text += " (compilation: 29.25 s)"
    say(text, who="EngineCore", where="core.py:337")


def _scheduling(method: str, *, release: Release) -> None:
    if release.since(ASYNC_BY_DEFAULT):
        kept = release.asynchronous(method)
        if not kept:
            text = f"Async scheduling not supported with {method}-based speculative decoding and will be disabled."
            say(text, level="WARNING", where="vllm.py:1010")
        say(f"Asynchronous scheduling is {'enabled' if kept else 'disabled'}.", where="vllm.py:1042")
    if release.since(V2_BASELINE) and release.runner(method) == "V1":
        text = f"Model Runner V2 does not yet support speculative method '{method}'; using the V1 model runner instead."
        say(text, level="WARNING", where="vllm.py:548")
