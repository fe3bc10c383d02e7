"""Lines of the log that are alike on both platforms, and how a line looks."""

import os
import sys
from argparse import Namespace

import vllm
from vllm.fake import log_cpu, log_gpu
from vllm.fake.lines import say
from vllm.fake.release import Release


def banner(options: Namespace) -> None:
    """The first lines: version, model, the arguments that are not defaults."""
    say(f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {vllm.__version__}", where="api_utils.py:347")
    say(f"  █▄█▀ █     █     █     █  model   {options.model}", where="api_utils.py:347")
    say(f"non-default args: {vars(options)}", where="api_utils.py:286")
    say("Resolved architecture: LlamaForCausalLM", where="model.py:733")


def engine(options: Namespace, *, release: Release) -> None:
    """The lines of configuration, loading and KV cache."""
    (log_cpu if release.platform == "cpu" else log_gpu).engine(options, release=release)


def kv_tokens(options: Namespace, *, release: Release) -> int:
    """What the KV cache holds, as the log and /metrics say."""
    return (log_cpu if release.platform == "cpu" else log_gpu).kv_tokens(options)


def ready(options: Namespace) -> None:
    """The last lines before requests are served."""
    say(f"Starting vLLM server on http://{options.host}:{options.port}", where="entry.py:140")
    sys.stderr.write(f"INFO:     Started server process [{os.getpid()}]\n")
    sys.stderr.write("INFO:     Waiting for application startup.\nINFO:     Application startup complete.\n")
    sys.stderr.flush()
