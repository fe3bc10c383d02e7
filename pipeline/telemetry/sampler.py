"""Telemetry of one window, taken by a thread of its own at a bounded cost.

Ten times a second a GPU's figures (NVML, 5 ms on an H200, without the interpreter's lock); once a second its processes
and the server's CPU and memory; every five seconds the process table and /metrics, which the server answers on the
loop that also streams: rarely, and alike in every arm. A question without an answer is counted; the thread goes on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import psutil
import pynvml

from pipeline.domain.telemetry import TelemetrySample
from pipeline.telemetry.gpu import Gpu, open_gpu
from pipeline.telemetry.processes import ProcessTree, foreign

TICK_S = 0.1
PROCESSES_EVERY = 10  # ticks
TREE_EVERY = 50
USAGE_EVERY = 50
USAGE_FIRST = 10  # a short window gets a look at its KV cache too
_JOIN_S = 30.0  # a question on its way when the window ends

Usage = Callable[[], float | None]


class Sampler:
    """Samples while it is entered: one before, one after, and as many as there are ticks in between."""

    def __init__(
        self,
        *,
        gpu: Gpu | None,
        tree: ProcessTree | None,
        usage: Usage | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._gpu = gpu
        self._tree = tree
        self._usage = usage
        self._clock = clock
        self._samples: list[TelemetrySample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    @property
    def samples(self) -> tuple[TelemetrySample, ...]:
        """What was taken so far, in order."""
        return tuple(self._samples)

    def __enter__(self) -> Self:
        """Take a first sample, and go on in a thread."""
        self.take(0)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread and take a last sample, with everything but /metrics."""
        self._stop.set()
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self.take(0)

    def take(self, tick: int) -> None:
        """Take the sample of a tick, with the questions that are due at it; none when nothing is."""
        told: dict[str, Any] = {}
        errors = 0
        if self._gpu:
            answers, errors = self._gpu.figures()
            told |= answers
        if tick % PROCESSES_EVERY == 0:
            more, failed = self._processes(look=tick % TREE_EVERY == 0)
            told |= more
            errors += failed
        if self._usage and tick and tick % USAGE_EVERY == USAGE_FIRST:
            try:
                told["kv_cache_usage"] = self._usage()
            except OSError:
                errors += 1
        if told or errors:
            self._samples.append(TelemetrySample(at_ns=self._clock(), errors=errors, **told))

    def _processes(self, *, look: bool) -> tuple[dict[str, Any], int]:
        if self._tree is None:
            return {}, 0
        told: dict[str, Any] = {}
        errors = 0
        try:
            if look:
                self._tree.look()
            told["server_cpu_s"], told["server_rss_bytes"] = self._tree.figures()
        except (psutil.Error, OSError):  # a process table read while processes end
            errors += 1
        if self._gpu:
            on_gpu, failed = self._gpu.processes()
            errors += failed
            told["foreign_processes"] = None if on_gpu is None else foreign(on_gpu, own=self._tree.pids)
        return told, errors

    def _run(self) -> None:
        begin = time.monotonic()
        tick = 0
        while True:
            # A tick that is over already is left out: asking twice at once would not be a sample of then.
            tick = max(tick + 1, int((time.monotonic() - begin) / TICK_S))
            if self._stop.wait(max(0.0, begin + tick * TICK_S - time.monotonic())):
                return
            self.take(tick)


@contextmanager
def watched(*, pid: int | None, platform: str, usage: Usage | None, nvml: Any = pynvml) -> Iterator[Sampler]:
    """Sample while the block runs. `pid`: the root of the server's tree. A CPU engine asks no GPU.

    Without a GPU, or without a tree, what they would have told stays unknown.
    """
    tree = None if pid is None else ProcessTree(pid)
    if platform == "cpu":
        with Sampler(gpu=None, tree=tree, usage=usage) as sampler:
            yield sampler
        return
    with open_gpu(nvml=nvml) as gpu, Sampler(gpu=gpu, tree=tree, usage=usage) as sampler:
        yield sampler
