"""Whether the GPU is empty before a server starts: what somebody else computes there would be measured, too."""

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.errors import EnvironmentFault

FREE_WITHIN_S = 30.0  # the driver gives memory back a moment after a process ended
RESERVED = 0.03  # share of a GPU that the driver itself may hold
_GIB = 1 << 30
_POLL_S = 0.5


def require_empty(
    nvml: Any,
    *,
    index: int = 0,
    own: Collection[int] = (),
    timeout_s: float = FREE_WITHIN_S,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return once GPU `index` runs nothing but the processes `own`, as the NVML-like `nvml` sees it.

    Raises EnvironmentFault naming what is there after `timeout_s`. A GPU that tells nothing is left to vLLM.
    """
    deadline = clock() + timeout_s
    while True:
        found = _occupied(nvml, index=index, own=own)
        if found is None:
            return
        if clock() >= deadline:
            message = (
                f"GPU {index} is not empty: {found}. End it, or wait until it is done: beside it nothing is measured."
            )
            raise EnvironmentFault(message)
        sleep(_POLL_S)


def _occupied(nvml: Any, *, index: int, own: Collection[int]) -> str | None:
    """Say what is on the GPU; None when it is empty or cannot be asked."""
    with suppress(nvml.NVMLError):
        nvml.nvmlInit()
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            strangers = [
                process for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle) if process.pid not in own
            ]
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        finally:
            nvml.nvmlShutdown()
        if strangers:
            return ", ".join(_named(process) for process in strangers)
        if memory.used > max(_GIB, RESERVED * memory.total):
            return f"{memory.used / _GIB:.1f} GiB are in use by a process that cannot be seen from here (a container?)"
    return None


def _named(process: Any) -> str:
    held = f", {process.usedGpuMemory / _GIB:.1f} GiB" if process.usedGpuMemory else ""
    return f"process {process.pid} ({_command(process.pid)}{held})"


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return os.fsdecode(b" ".join(words[:3])).strip()[:80] or "its name cannot be read"
    except OSError:
        return "its name cannot be read"
