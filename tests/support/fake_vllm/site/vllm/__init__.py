"""A stand-in for vLLM in tests: the same command line, log, streams and /metrics, without a model."""

import os

__version__ = os.environ.get("FAKE_VLLM_VERSION", "0.32.0")
__platform__ = os.environ.get("FAKE_VLLM_PLATFORM", "cpu")
