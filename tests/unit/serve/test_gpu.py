"""A GPU must be empty before a server starts, and what is on it is named."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.serve.gpu import require_empty

GIB = 1 << 30


class NvmlError(Exception):
    """What NVML raises."""


@dataclass
class ScriptedNvml:
    """A GPU of 96 GiB; `seen` holds, for each look, (pid, bytes) of its processes, and the bytes in use."""

    seen: list[tuple[list[tuple[int, int | None]], int]]
    broken: bool = False
    looks: int = 0
    NVMLError: type[Exception] = field(default=NvmlError)

    def __getattr__(self, name: str) -> Any:
        if name in ("nvmlInit", "nvmlShutdown"):
            return lambda: None
        raise AttributeError(name)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - NVML's name
        if self.broken:
            raise self.NVMLError(index)
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: int) -> list[Any]:  # noqa: N802 - NVML's name
        processes, _ = self.seen[min(self.looks, len(self.seen) - 1)]
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in processes]

    def nvmlDeviceGetMemoryInfo(self, _handle: int) -> Any:  # noqa: N802 - NVML's name
        _, used = self.seen[min(self.looks, len(self.seen) - 1)]
        self.looks += 1
        return SimpleNamespace(used=used, total=96 * GIB)


def check(nvml: ScriptedNvml, **how: Any) -> None:
    now = iter(range(1000))
    require_empty(nvml, timeout_s=5, sleep=lambda _: None, clock=lambda: next(now), **how)


def test_an_empty_gpu_is_taken_at_the_first_look() -> None:
    nvml = ScriptedNvml([([], GIB // 2)])
    check(nvml)
    assert nvml.looks == 1


def test_memory_that_is_given_back_a_moment_later_is_waited_for() -> None:
    nvml = ScriptedNvml([([(7, 80 * GIB)], 80 * GIB), ([], 80 * GIB), ([], 0)])
    check(nvml)
    assert nvml.looks == 3


def test_a_foreign_process_is_named_with_what_it_holds() -> None:
    with pytest.raises(EnvironmentFault, match=r"GPU 0 is not empty: process 1 \(.+, 20\.0 GiB\)\. End it"):
        check(ScriptedNvml([([(1, 20 * GIB)], 20 * GIB)]))


def test_a_process_whose_memory_is_not_told_is_named_all_the_same() -> None:
    with pytest.raises(EnvironmentFault, match="its name cannot be read"):
        check(ScriptedNvml([([(4194305, None)], 0)]))


def test_memory_without_a_process_is_somebody_in_a_container() -> None:
    with pytest.raises(EnvironmentFault, match=r"3\.0 GiB are in use by a process that cannot be seen"):
        check(ScriptedNvml([([], 3 * GIB)]))


def test_our_own_processes_do_not_count() -> None:
    check(ScriptedNvml([([(7, GIB)], GIB)]), own={7})


def test_a_gpu_that_cannot_be_asked_is_left_to_vllm() -> None:
    check(ScriptedNvml([([], 0)], broken=True))
