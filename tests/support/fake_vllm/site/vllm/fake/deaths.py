"""Ways to die at start, with the lines that real servers wrote."""

import os
import signal
import sys

from vllm.fake.lines import say

LINES = {
    "out_of_memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total "
    "capacity of 23.64 GiB of which 512.00 MiB is free.",
    "architecture_unsupported": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "driver_too_old": "RuntimeError: The NVIDIA driver on your system is too old (found version 12040).",
    "no_access": "huggingface_hub.errors.GatedRepoError: 403 Client Error. Cannot access gated repo",
    "not_found": "OSError: nowhere/no-model is not a local folder and is not a valid model identifier",
    "port_taken": "OSError: [Errno 98] error while attempting to bind on address: address already in use",
    "disk_full": "OSError: [Errno 28] No space left on device: '/tmp/x'",
    "engine_died": "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    "unknown": "ValueError: something nobody has seen before",
}


def die(failure_class: str) -> int:
    """Write the lines of this class and return the exit status; `killed` kills the process itself."""
    if failure_class == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if failure_class == "bad_flag":
        sys.stderr.write("usage: api_server.py [-h]\napi_server.py: error: unrecognized arguments: --no-such-flag\n")
        return 2
    say("Traceback (most recent call last):", level="ERROR", who="EngineCore")
    sys.stderr.write(LINES[failure_class] + "\n")
    return 1
