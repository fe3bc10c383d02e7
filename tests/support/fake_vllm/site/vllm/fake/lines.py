"""One line of vLLM's log, and the configuration line that every release writes."""

import os
import sys
import time
from argparse import Namespace

import vllm


def say(text: str, *, who: str = "APIServer", level: str = "INFO", where: str = "fake.py:1") -> None:
    """Write one line to standard error, where vLLM logs."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    sys.stderr.write(f"({who} pid={os.getpid()}) {level} {stamp} [{where}] {text}\n")
    sys.stderr.flush()


def method_of(options: Namespace) -> str:
    """Return the speculation method, `none` without."""
    return str((options.speculative_config or {}).get("method", "none"))


def configuration(options: Namespace, *, device: str, compilation: str) -> str:
    """Return the line in which the engine says what it was told."""
    return (
        f"Initializing a V1 LLM engine (v{vllm.__version__}) with config: model='{options.model}', "
        f"speculative_config={_speculative(options)}, tokenizer='{options.model}', dtype=torch.bfloat16, "
        f"max_seq_len={options.max_model_len}, load_format={options.load_format}, "
        f"enforce_eager={options.enforce_eager}, device_config={device}, seed={options.seed}, "
        f"enable_prefix_caching={options.enable_prefix_caching}, compilation_config={compilation}"
    )


def _speculative(options: Namespace) -> str:
    config = options.speculative_config
    if config is None:
        return "None"
    model = config.get("model")
    shown = None if model is None else f"'{model}'"
    method, k = config["method"], config["num_speculative_tokens"]
    return f"SpeculativeConfig(method='{method}', model={shown}, num_spec_tokens={k})"
