"""Telemetry of a window: what is asked when, and a thread that ends."""

import threading
import time
from types import SimpleNamespace

import psutil
import pynvml
import pytest

from pipeline.telemetry import sampler as sampling
from pipeline.telemetry.gpu import Gpu
from pipeline.telemetry.sampler import Sampler, watched
from tests.unit.telemetry.scripted_nvml import Error, ScriptedNvml, running


class ScriptedTree:
    """A server of two processes that has used 1.5 s."""

    pids = frozenset({10, 11})

    def __init__(self) -> None:
        self.looks = 0
        self.gone = False

    def look(self) -> None:
        self.looks += 1

    def figures(self) -> tuple[float, int]:
        if self.gone:
            raise psutil.NoSuchProcess(10)
        return 1.5, 1000


def sampler(nvml: ScriptedNvml | None = None, tree: ScriptedTree | None = None, **options: object) -> Sampler:
    return Sampler(gpu=Gpu(nvml, "card") if nvml else None, tree=tree, clock=lambda: 7, **options)


def test_a_gpu_is_asked_every_tick_processes_every_tenth_and_the_table_every_fiftieth() -> None:
    tree, nvml = ScriptedTree(), ScriptedNvml(nvmlDeviceGetComputeRunningProcesses=running(10, 99))
    taken = sampler(nvml, tree, usage=lambda: 0.5)
    for tick in range(120):
        taken.take(tick)
    samples = taken.samples
    assert all(sample.power_mw == 400_000 and sample.at_ns == 7 for sample in samples)
    assert [i for i, sample in enumerate(samples) if sample.server_cpu_s is not None] == list(range(0, 120, 10))
    assert [i for i, sample in enumerate(samples) if sample.foreign_processes == 1] == list(range(0, 120, 10))
    assert [i for i, sample in enumerate(samples) if sample.kv_cache_usage is not None] == [10, 60, 110]
    assert tree.looks == 3


def test_a_machine_without_a_gpu_has_its_processes_once_a_second_and_no_empty_samples() -> None:
    taken = sampler(tree=ScriptedTree())
    for tick in range(21):
        taken.take(tick)
    assert [(s.server_cpu_s, s.server_rss_bytes, s.power_mw) for s in taken.samples] == [(1.5, 1000, None)] * 3


def test_questions_without_an_answer_are_counted_and_the_next_sample_is_whole() -> None:
    tree, nvml = ScriptedTree(), ScriptedNvml(nvmlDeviceGetTemperature=Error(pynvml.NVML_ERROR_UNKNOWN))
    tree.gone = True

    def no_answer() -> float:
        raise OSError

    taken = sampler(nvml, tree, usage=no_answer)
    taken.take(10)  # temperature, tree and /metrics fail
    nvml.answers["nvmlDeviceGetTemperature"], tree.gone = 60, False
    taken.take(20)
    first, second = taken.samples
    assert (first.errors, first.temperature_c, first.power_mw) == (3, None, 400_000)
    assert (second.errors, second.temperature_c, second.server_cpu_s) == (0, 60, 1.5)


def test_a_thread_samples_until_the_block_ends() -> None:
    taken = sampler(ScriptedNvml(), ScriptedTree())
    with taken:
        deadline = time.monotonic() + 10
        while len(taken.samples) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    number = len(taken.samples)
    assert number >= 3 + 1  # the last one is taken at the end
    assert "telemetry" not in {thread.name for thread in threading.enumerate()}
    assert taken.samples[0].server_cpu_s == taken.samples[-1].server_cpu_s == 1.5


def test_it_ends_with_the_error_that_ends_the_window() -> None:
    with pytest.raises(ValueError, match="died"), sampler(ScriptedNvml()):
        raise ValueError("died")
    assert "telemetry" not in {thread.name for thread in threading.enumerate()}


def test_a_cpu_engine_asks_no_gpu() -> None:
    nvml = ScriptedNvml()
    with watched(pid=None, platform="cpu", usage=None, nvml=nvml) as taken:
        pass
    assert (nvml.calls, taken.samples) == ([], ())


def test_a_cuda_engine_asks_its_gpu_and_leaves_nvml() -> None:
    nvml = ScriptedNvml()
    with watched(pid=None, platform="cuda", usage=None, nvml=nvml) as taken:
        pass
    assert taken.samples[0].power_mw == 400_000
    assert nvml.calls[-1] == "nvmlShutdown"


def test_late_ticks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ticks pass while one sample is taken: the next one is the fourth."""
    now = 0.0
    taken = sampler(ScriptedNvml())
    ticks: list[int] = []

    def take(tick: int) -> None:
        nonlocal now
        ticks.append(tick)
        now += 0.35

    def wait(seconds: float) -> bool:
        nonlocal now
        now += seconds
        return len(ticks) == 3

    monkeypatch.setattr(taken, "take", take)
    monkeypatch.setattr(taken, "_stop", SimpleNamespace(wait=wait))
    monkeypatch.setattr(sampling, "time", SimpleNamespace(monotonic=lambda: now))
    taken._run()
    assert ticks == [1, 4, 7]
